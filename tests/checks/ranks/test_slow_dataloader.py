from __future__ import annotations

import dataclasses

import pytest

from tests.checks.ranks.facts import line, said, with_workers
from tests.fakes import only, place
from torch_debugger.records import Finding, Place, Record, SampledStacks, StackNode, StalledBatch, WorkerTimes
from torch_debugger.records.data import SampleSeen, WorkerTime

SEEN = SampleSeen(37, "Scans", 2.0, line(), "Scans.__getitem__", "scans/37.npy", 48_000_000)


def stall(iteration: int = 1, index: int | None = 37, waited_s: float = 2.0, **others: object) -> StalledBatch:
    facts: dict[str, object] = {
        "loader": 1, "step": 50 * iteration, "number": 9, "iteration": iteration, "worker": 1,
        "waited_s": waited_s, "typical_s": 0.02, "elapsed_s": 4.0, "indices": (5, 37),
        "sample": dataclasses.replace(SEEN, index=index, seconds=waited_s),
    }  # fmt: skip
    return StalledBatch(**{**facts, **others})  # type: ignore[arg-type]


def of_samples(*stalls: StalledBatch, workers: int = 2, others: list[Record] | None = None) -> list[Finding]:
    return said("slow-sample", [*(others or []), *stalls], with_workers(workers))


def test_the_same_sample_in_two_passes() -> None:
    [finding] = of_samples(stall(1), stall(2, waited_s=1.5))
    assert (finding.check, finding.severity, finding.confidence) == ("TD841", "warning", 0.92)
    assert finding.message == (
        "Sample 37 of `Scans` (scans/37.npy, 48 MB) takes 2 s at train.py:30, and the training stands still "
        "for it: a whole batch otherwise takes 20 ms."
    )
    assert finding.why == (
        "The training waited 2 s for batch 9 of pass 1 while worker 1 was at this sample, in `image = decode(raw)`. "
        "Such waits took 69% of the time. It was slow in 2 passes: it is the sample, not the machine."
    )
    assert finding.fix.startswith("Look at sample 37 (`scans/37.npy`): repair it")
    assert "a larger `prefetch_factor`" in finding.fix
    assert finding.where == line()
    assert (finding.first_step, finding.last_step) == (50, 100)
    assert finding.evidence["expected_gain"] == pytest.approx(3.46 / 5)


def test_several_samples_are_told_together_and_one_look_is_a_note() -> None:
    # several samples
    [finding] = of_samples(stall(), stall(index=80, waited_s=1.0), stall(index=12, waited_s=1.0))
    assert finding.severity == "warning"
    assert finding.message.endswith("otherwise takes 20 ms; so it does for samples 12, 80.")
    # once it may be the disk
    [finding] = of_samples(stall())
    assert (finding.severity, finding.confidence) == ("note", 0.6)
    assert finding.why.endswith("a disk or a network that hung for a moment looks the same.")


def test_a_stream_has_no_indices() -> None:
    seen = SampleSeen(None, "Stream", 2.0, Place(), "")
    [finding] = of_samples(stall(index=None, sample=seen))
    assert finding.message.startswith("A sample of batch 9 of `train_loader` takes 2 s, and")
    assert finding.where == with_workers().made


def test_in_the_training_process_the_stacks_know_the_line_better() -> None:
    dear = place(28, code="raw = clean(text)")
    node = StackNode(-1, "Scans.__getitem__", dear, True, 90, 90)
    stacks = SampledStacks("training", 100, 0.02, 100, (node,))
    [finding] = of_samples(stall(1, worker=-1), stall(2, worker=-1), workers=0, others=[stacks])
    assert finding.where == dear
    assert "while the training process was at this sample, in `raw = clean(text)`" in finding.why
    assert "(`num_workers=2` at train.py:11) hide it" in finding.fix


def test_when_nothing_is_said_of_samples() -> None:
    whole_batch = dataclasses.replace(SEEN, seconds=1.19)
    assert not of_samples(stall(1, sample=whole_batch), stall(2, sample=whole_batch))
    assert not of_samples(stall(1, sample=None), stall(2, sample=None))
    assert not of_samples(stall(1, waited_s=1.0, elapsed_s=30.0), stall(2, waited_s=0.3, elapsed_s=30.0))


def worker(number: int, making_s: float = 0.02, **others: object) -> WorkerTime:
    facts: dict[str, object] = {
        "worker": number, "batches": 50, "timed": 40, "making_s": making_s, "fast_s": 0.9 * making_s,
        "slow_s": 1.1 * making_s, "waited_s": 0.01, "place": Place(), "place_share": 0.0,
    }  # fmt: skip
    return WorkerTime(**{**facts, **others})  # type: ignore[arg-type]


SLOW = worker(2, 0.1, waited_s=5.0, place=line(), place_share=0.94)
FAST = (worker(0), worker(1), worker(3, 0.025))


def of(*workers: WorkerTime, elapsed_s: float = 10.0, in_order: bool = True) -> WorkerTimes:
    return WorkerTimes(1, 200, elapsed_s, in_order, tuple(sorted(workers, key=lambda each: each.worker)))


def of_workers(times: WorkerTimes, **others: int) -> list[Finding]:
    return said("slow-worker", [times], **others)  # type: ignore[arg-type]


def test_one_slow_worker() -> None:
    [finding] = of_workers(of(SLOW, *FAST))
    assert finding.message == (
        "Worker 2 of the 4 of `train_loader` at train.py:11 takes 100 ms for a batch, the others 20 ms: the "
        "training stands still for its batches 50% of the time."
    )
    assert finding.why.endswith(
        "Worker 2 was at train.py:30 (`image = decode(raw)`) in 94% of the looks at it while it made batches."
    )
    assert "`in_order=False`" in finding.fix
    assert finding.fix.endswith("About 40% of the time can be saved.")
    assert (finding.check, finding.severity, finding.where) == ("TD840", "warning", line())
    assert finding.evidence["expected_gain"] == pytest.approx(0.4)


def test_without_a_line_it_is_the_loaders() -> None:
    [finding] = of_workers(of(dataclasses.replace(SLOW, place=Place()), *FAST))
    assert finding.where == with_workers().made
    assert finding.why.endswith("the slowest.")


def test_some_of_several_workers() -> None:
    # two of six
    other = worker(4, 0.09, waited_s=2.0)
    [finding] = of_workers(of(SLOW, other, *FAST, worker(5)))
    assert finding.message.startswith("Workers 2 and 4 of the 4 of `train_loader` at train.py:11 take up to 100 ms")
    assert of_workers(of(SLOW, worker(0))), "two workers"


def test_a_small_gain_is_a_note() -> None:
    assert only(of_workers(of(dataclasses.replace(SLOW, waited_s=1.0), *FAST))).severity == "note"
    assert not of_workers(of(dataclasses.replace(SLOW, waited_s=0.6), *FAST))


@pytest.mark.parametrize(
    "other",
    [
        {"making_s": 0.039},
        {"fast_s": 0.026, "making_s": 0.1},  # a few long batches
        {"timed": 5},
        {"waited_s": 0.5},
    ],
)
def test_thresholds(other: dict[str, float]) -> None:
    assert not of_workers(of(dataclasses.replace(SLOW, **other), *FAST))  # type: ignore[arg-type]


def test_when_nothing_is_said_of_workers() -> None:
    assert not of_workers(of(SLOW, worker(1, 0.1, waited_s=5.0), worker(0, 0.1, waited_s=5.0), worker(3)))  # most are
    assert not of_workers(of(SLOW, *FAST, in_order=False))
    assert not of_workers(of(dataclasses.replace(SLOW, waited_s=0.5), *FAST, elapsed_s=0.9))
    assert not of_workers(of(SLOW, *FAST), trained=0)
