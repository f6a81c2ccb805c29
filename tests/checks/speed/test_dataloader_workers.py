from __future__ import annotations

import pytest

from tests.checks.data.looks import loader
from tests.checks.speed.loads import lines, settings, split, times, waiting
from tests.fakes import judged, only, place
from torch_debugger.checks.judge import Judge
from torch_debugger.records import Finding, LoaderFact, LoadingTime, Record

NAME = "data-loaded-in-the-training-process"


def in_process(time: LoadingTime | None = None, **others: object) -> list[Finding]:
    return waiting(NAME, time, **others)  # type: ignore[arg-type]


def test_work_for_other_cores() -> None:
    [finding] = in_process()
    assert finding.severity == "warning"
    assert finding.message == (
        "The training waits 30 of the 50 ms that a batch takes (60%) for data: `train_loader` at train.py:11 "
        "has num_workers=0, so the training process makes each batch itself."
    )
    assert "work for the processor, which other cores can do" in finding.why
    assert finding.fix == (
        "Pass `num_workers=2, persistent_workers=True` at train.py:11. A batch should then take about 21 ms "
        "instead of 50 ms, 58% less, if nothing else needs the 8 cores."
    )
    assert finding.edit is not None
    assert finding.edit.after == (
        "train_loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)"
    )
    assert finding.evidence["expected_gain"] == pytest.approx(0.58)
    assert finding.evidence["wait_s"] == 0.03


def test_the_line_a_stream_and_a_small_gain_are_told() -> None:
    # the line that takes the time
    [finding] = in_process(seen=lines([("image = load(path)", 0.27), ("return image", 0.01)]))
    assert finding.message.endswith("itself, 90% of that time in `image = load(path)` at train.py:30.")
    # a stream must be shared out
    assert only(in_process(fact=loader(iterable=True))).fix.endswith("else every sample comes several times.")
    # a small gain is a note
    [finding] = in_process(times(wait_s=0.015, batch_s=0.05, cpu_s=100 * (0.015 + 2 * 0.034)), cores=2)
    assert finding.severity == "note"
    assert finding.evidence["expected_gain"] == pytest.approx(0.15)


def test_a_disk_is_waited_for_without_a_core() -> None:
    [finding] = in_process(times(wait_s=0.08, batch_s=0.1, wait_cpu_s=0.01, cpu_s=3.0), cores=2)
    assert "Of each wait only 10 ms is work for the processor" in finding.why
    assert "num_workers=4," in finding.fix  # more than there are cores
    assert finding.evidence["expected_batch_s"] == pytest.approx(0.021)


def test_two_cores_that_are_both_used_leave_less_to_gain() -> None:
    [free] = in_process(cores=2)
    [used] = in_process(times(cpu_s=100 * (0.03 + 2 * 0.02)), cores=2)  # the training itself uses both
    assert free.evidence["expected_gain"] == pytest.approx(0.48)
    assert used.evidence["expected_gain"] == pytest.approx(0.28)


def test_one_core_that_computes_all_along_has_nothing_to_gain() -> None:
    assert not in_process(cores=1)
    [finding] = in_process(times(wait_cpu_s=0.002, cpu_s=2.2), fact=loader(dataset="Images"), cores=1)
    assert "the one core" in finding.fix


def test_loading_that_need_not_be_faster_is_silent() -> None:
    # Else it stood in line for a core, which more workers would do as well.
    assert not in_process(times(wait_cpu_s=0.002, cpu_s=2.2))
    # a wait that is long because the machine is busy
    assert not in_process(times(wait_s=0.012, batch_s=0.03, wait_cpu_s=0.004, stretch=3.0, cpu_s=1.0))
    assert not in_process(times(batches=19))
    assert not in_process(times(batch_s=0.04, batches=25))  # one second
    assert not judged([loader(), *split(), times()], NAME)  # nothing is known of the machine
    assert not judged([loader(), settings(), *split(steps=9), times()], NAME)
    # a thread of the users that reads ahead
    assert not judged([loader(), settings(), *split(wait_s=0.005, rest_s=0.045), times()], NAME)
    # workers and datasets on a gpu are others matter
    assert not in_process(fact=loader(workers=2))
    assert not in_process(times(on_device=True))


def test_waits_that_are_short_or_a_small_part() -> None:
    assert in_process(times(wait_s=0.0126, batch_s=0.05))
    assert not in_process(times(wait_s=0.0124, batch_s=0.05))
    assert in_process(times(wait_s=0.0051, batch_s=0.01, batches=300))
    assert not in_process(times(wait_s=0.0049, batch_s=0.01, batches=300))


def test_while_it_runs_only_what_has_settled_is_said() -> None:
    def said(time: LoadingTime) -> list[Finding]:
        judge = Judge(only=[NAME])
        records: list[Record] = [loader(), settings(), *split(), time]
        return [found for record in records for found in judge.see(record)]

    assert not said(times(batches=399))
    assert said(times(batches=400))  # twenty seconds


MADE = place(11, code="train_loader = DataLoader(data, batch_size=8, num_workers=2)")


def with_workers(workers: int = 2) -> LoaderFact:
    return loader(workers=workers, made=MADE)


def slow(wait_s: float = 0.03, busy: float = 0.1, batch_s: float = 0.05, **others: object) -> LoadingTime:
    """Two workers that compute for this share of their time."""
    facts: dict[str, object] = {"wait_cpu_s": 0.0, "cpu_s": 100 * (batch_s - wait_s)}
    facts |= {"workers_cpu_s": 100 * 2 * batch_s * busy, **others}
    return times(wait_s, batch_s, **facts)  # type: ignore[arg-type]


def too_few(time: LoadingTime | None = None, fact: LoaderFact | None = None, cores: int = 8) -> list[Finding]:
    return waiting("too-few-workers", time or slow(), fact or with_workers(), cores)


def test_workers_that_wait_for_a_disk() -> None:
    [finding] = too_few(cores=2)
    assert finding.severity == "warning"
    assert finding.message == (
        "The training waits 30 of the 50 ms that a batch takes (60%) for data: the 2 workers of `train_loader` "
        "at train.py:11 do not keep up."
    )
    assert finding.why.endswith("90% of that they do not compute but wait, for a disk, a network or the like.")
    assert finding.fix == (
        "Pass `num_workers=5` at train.py:11. A batch should then take about 20 ms instead of 50 ms, 60% less, "
        "if nothing else needs the 2 cores."
    )
    assert finding.edit and finding.edit.after == "train_loader = DataLoader(data, batch_size=8, num_workers=5)"
    assert finding.evidence["expected_gain"] == pytest.approx(0.6)


def test_cores_that_are_left() -> None:
    [finding] = too_few(slow(busy=0.95))
    assert "the training and they use 2.3 of the 8 cores: some are left." in finding.why
    assert "num_workers=5" in finding.fix


def test_no_core_is_left() -> None:
    [finding] = too_few(slow(busy=0.9), cores=2)
    assert "more workers would only take the cores from each other" in finding.why
    assert finding.fix.startswith("Do less for each sample")
    assert finding.edit is None
    assert finding.evidence["expected_gain"] == pytest.approx(0.6)


def test_one_worker() -> None:
    [finding] = too_few(slow(workers_cpu_s=1.0), with_workers(1))
    assert "the one worker of `train_loader` at train.py:11 does not keep up" in finding.message


def test_a_crowded_machine_says_nothing() -> None:
    queued = {"stretch": 3.0, "workers_queued_s": 1.5}
    assert not too_few(slow(wait_s=0.015, batch_s=0.05, cpu_s=0.7, **queued), cores=2)
    assert too_few(slow(wait_s=0.045, batch_s=0.05, busy=0.02, cpu_s=0.3, stretch=3.0), cores=2)  # a disk


def test_thresholds() -> None:
    assert not too_few(slow(wait_s=0.0124))
    assert not too_few(slow(wait_s=0.0049, batch_s=0.01))
    assert not too_few(slow(workers_cpu_s=None))
    assert not too_few(fact=loader())


def passes(**others: object) -> LoadingTime:
    """Ten batches a pass of 10 ms each, after 100 ms to start and 50 ms to end the workers."""
    facts: dict[str, object] = {"passes": 10, "passes_s": 2.5, "opening_s": 0.1, "closing_s": 0.05}
    return times(0.0, 0.025, **{**facts, **others})  # type: ignore[arg-type]


def started(time: LoadingTime | None = None, fact: LoaderFact | None = None) -> list[Finding]:
    return waiting("workers-started-each-pass", time or passes(), fact or loader(workers=2, made=MADE))


def test_short_passes() -> None:
    [finding] = started()
    assert finding.severity == "note"
    assert finding.message == (
        "`train_loader` at train.py:11 starts its 2 workers again for every pass: 100 ms until the first batch "
        "is there and 50 ms until they have ended, in each of 11 passes, which come every 250 ms."
    )
    # Making the first batch stays: two turns of 10 ms.
    assert finding.evidence["expected_gain"] == pytest.approx((0.1 - 0.02 + 0.05) / 0.25)
    assert "Each pass should then take about 130 ms less, 52% of the time." in finding.fix
    assert finding.edit is not None
    assert finding.edit.after == (
        "train_loader = DataLoader(data, batch_size=8, num_workers=2, persistent_workers=True)"
    )


def test_a_validation_loader_counts_by_its_passes_alone() -> None:
    time = passes(batches=0, elapsed_s=0.0, passes_s=8.0)
    assert only(started(time)).severity == "note"


def test_what_is_no_matter() -> None:
    assert not started(passes(passes=2))
    assert not started(passes(passes_s=30.0))  # 4 % of the time
    assert not started(passes(opening_s=0.03, closing_s=0.005))
    assert not started(fact=loader(workers=2, persistent=True))
    assert not started(fact=loader())
