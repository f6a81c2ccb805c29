"""The training stands still for single samples."""

from __future__ import annotations

import dataclasses

import pytest

from tests.checks.ranks.worker_facts import line, said, with_workers
from tests.fakes import place
from torch_debugger.records import Finding, Place, Record, SampledStacks, StackNode, StalledBatch
from torch_debugger.records.data import SampleSeen

SEEN = SampleSeen(37, "Scans", 2.0, line(), "Scans.__getitem__", "scans/37.npy", 48_000_000)


def stall(iteration: int = 1, index: int | None = 37, waited_s: float = 2.0, **others: object) -> StalledBatch:
    facts: dict[str, object] = {
        "loader": 1,
        "step": 50 * iteration,
        "number": 9,
        "iteration": iteration,
        "worker": 1,
        "waited_s": waited_s,
        "typical_s": 0.02,
        "elapsed_s": 4.0,
        "indices": (5, 37),
        "sample": dataclasses.replace(SEEN, index=index, seconds=waited_s),
    }
    return StalledBatch(**{**facts, **others})  # type: ignore[arg-type]


def check(*stalls: StalledBatch, workers: int = 2, others: list[Record] | None = None) -> list[Finding]:
    return said("slow-sample", [*(others or []), *stalls], with_workers(workers))


def test_the_same_sample_in_two_passes() -> None:
    [finding] = check(stall(1), stall(2, waited_s=1.5))
    assert (finding.check, finding.severity, finding.confidence) == ("TD841", "warning", 0.92)
    assert finding.message == (
        "Sample 37 of `Scans` (scans/37.npy, 48 MB) takes 2 s at train.py:30, and the training stands still "
        "for it: a whole batch otherwise takes 20 ms."
    )
    assert finding.why == (
        "The training waited 2 s for batch 9 of pass 1 while worker 1 was at this sample, in `image = "
        "decode(raw)`. Such waits took 69% of the time. It was slow in 2 passes: it is the sample, not the "
        "machine."
    )
    assert finding.fix.startswith("Look at sample 37 (`scans/37.npy`): repair it")
    assert "a larger `prefetch_factor`" in finding.fix
    assert finding.where == line()
    assert (finding.first_step, finding.last_step) == (50, 100)
    assert finding.evidence["expected_gain"] == pytest.approx(3.46 / 5)


def test_several_samples() -> None:
    [finding] = check(stall(), stall(index=80, waited_s=1.0), stall(index=12, waited_s=1.0))
    assert finding.severity == "warning"
    assert finding.message.endswith("otherwise takes 20 ms; so it does for samples 12, 80.")


def test_once_it_may_be_the_disk() -> None:
    [finding] = check(stall())
    assert (finding.severity, finding.confidence) == ("note", 0.6)
    assert finding.why.endswith("a disk or a network that hung for a moment looks the same.")


def test_a_stream_has_no_indices() -> None:
    seen = SampleSeen(None, "Stream", 2.0, Place(), "")
    [finding] = check(stall(index=None, sample=seen))
    assert finding.message.startswith("A sample of batch 9 of `train_loader` takes 2 s, and")
    assert finding.where == with_workers().made


def test_in_the_training_process_the_stacks_know_the_line_better() -> None:
    dear = place(28, code="raw = clean(text)")
    node = StackNode(-1, "Scans.__getitem__", dear, True, 90, 90)
    stacks = SampledStacks("training", 100, 0.02, 100, (node,))
    [finding] = check(stall(1, worker=-1), stall(2, worker=-1), workers=0, others=[stacks])
    assert finding.where == dear
    assert "while the training process was at this sample, in `raw = clean(text)`" in finding.why
    assert "(`num_workers=2` at train.py:11) hide it" in finding.fix


def test_when_nothing_is_said() -> None:
    whole_batch = dataclasses.replace(SEEN, seconds=1.19)
    assert not check(stall(1, sample=whole_batch), stall(2, sample=whole_batch))
    assert not check(stall(1, sample=None), stall(2, sample=None))
    assert not check(stall(1, waited_s=1.0, elapsed_s=30.0), stall(2, waited_s=0.3, elapsed_s=30.0))
