"""num_workers=0, and the training waits for its data."""

from __future__ import annotations

import pytest

from tests.checks.data.looks import loader
from tests.checks.speed.loads import lines, settings, split, times, waiting
from tests.fakes import judged
from torch_debugger.checks.judge import Judge
from torch_debugger.records import Finding, LoadingTime, Record

NAME = "data-loaded-in-the-training-process"


def check(time: LoadingTime | None = None, **others: object) -> list[Finding]:
    return waiting(NAME, time, **others)  # type: ignore[arg-type]


def test_work_for_other_cores() -> None:
    [finding] = check()
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


def test_the_line_that_takes_the_time() -> None:
    [finding] = check(seen=lines([("image = load(path)", 0.27), ("return image", 0.01)]))
    assert finding.message.endswith("itself, 90% of that time in `image = load(path)` at train.py:30.")


def test_a_disk_is_waited_for_without_a_core() -> None:
    [finding] = check(times(wait_s=0.08, batch_s=0.1, wait_cpu_s=0.01, cpu_s=3.0), cores=2)
    assert "Of each wait only 10 ms is work for the processor" in finding.why
    assert "num_workers=4," in finding.fix  # more than there are cores
    assert finding.evidence["expected_batch_s"] == pytest.approx(0.021)


def test_two_cores_that_are_both_used_leave_less_to_gain() -> None:
    [free] = check(cores=2)
    [used] = check(times(cpu_s=100 * (0.03 + 2 * 0.02)), cores=2)  # the training itself uses both
    assert free.evidence["expected_gain"] == pytest.approx(0.48)
    assert used.evidence["expected_gain"] == pytest.approx(0.28)


def test_one_core_that_computes_all_along_has_nothing_to_gain() -> None:
    assert not check(cores=1)
    [finding] = check(times(wait_cpu_s=0.002, cpu_s=2.2), fact=loader(dataset="Images"), cores=1)
    assert "the one core" in finding.fix


def test_tensors_in_memory_are_waited_for_only_while_the_thread_computes() -> None:
    """Else it stood in line for a core, which more workers would do as well."""
    assert not check(times(wait_cpu_s=0.002, cpu_s=2.2))


def test_a_small_gain_is_a_note() -> None:
    [finding] = check(times(wait_s=0.015, batch_s=0.05, cpu_s=100 * (0.015 + 2 * 0.034)), cores=2)
    assert finding.severity == "note"
    assert finding.evidence["expected_gain"] == pytest.approx(0.15)


def test_a_stream_must_be_shared_out() -> None:
    [finding] = check(fact=loader(iterable=True))
    assert finding.fix.endswith("else every sample comes several times.")


def test_waits_that_are_short_or_a_small_part() -> None:
    assert check(times(wait_s=0.0126, batch_s=0.05))
    assert not check(times(wait_s=0.0124, batch_s=0.05))
    assert check(times(wait_s=0.0051, batch_s=0.01, batches=300))
    assert not check(times(wait_s=0.0049, batch_s=0.01, batches=300))


def test_a_wait_that_is_long_because_the_machine_is_busy() -> None:
    assert not check(times(wait_s=0.012, batch_s=0.03, wait_cpu_s=0.004, stretch=3.0, cpu_s=1.0))


def test_what_is_too_little_to_judge_by() -> None:
    assert not check(times(batches=19))
    assert not check(times(batch_s=0.04, batches=25))  # one second
    assert not judged([loader(), *split(), times()], NAME)  # nothing is known of the machine
    assert not judged([loader(), settings(), *split(steps=9), times()], NAME)


def test_a_thread_of_the_users_that_reads_ahead() -> None:
    assert not judged([loader(), settings(), *split(wait_s=0.005, rest_s=0.045), times()], NAME)


def test_workers_and_datasets_on_a_gpu_are_others_matter() -> None:
    assert not check(fact=loader(workers=2))
    assert not check(times(on_device=True))


def test_while_it_runs_only_what_has_settled_is_said() -> None:
    def said(time: LoadingTime) -> list[Finding]:
        judge = Judge(only=[NAME])
        records: list[Record] = [loader(), settings(), *split(), time]
        return [found for record in records for found in judge.see(record)]

    assert not said(times(batches=399))
    assert said(times(batches=400))  # twenty seconds
