"""One worker is slower than the others, and the training waits for it."""

from __future__ import annotations

import dataclasses

import pytest

from tests.checks.ranks.worker_facts import line, said, with_workers
from torch_debugger.records import Finding, Place, WorkerTimes
from torch_debugger.records.data import WorkerTime


def worker(number: int, making_s: float = 0.02, **others: object) -> WorkerTime:
    facts: dict[str, object] = {
        "worker": number,
        "batches": 50,
        "timed": 40,
        "making_s": making_s,
        "fast_s": 0.9 * making_s,
        "slow_s": 1.1 * making_s,
        "waited_s": 0.01,
        "place": Place(),
        "place_share": 0.0,
    }
    return WorkerTime(**{**facts, **others})  # type: ignore[arg-type]


SLOW = worker(2, 0.1, waited_s=5.0, place=line(), place_share=0.94)
FAST = (worker(0), worker(1), worker(3, 0.025))


def of(*workers: WorkerTime, elapsed_s: float = 10.0, in_order: bool = True) -> WorkerTimes:
    return WorkerTimes(1, 200, elapsed_s, in_order, tuple(sorted(workers, key=lambda each: each.worker)))


def check(times: WorkerTimes, **others: int) -> list[Finding]:
    return said("slow-worker", [times], **others)  # type: ignore[arg-type]


def test_one_slow_worker() -> None:
    [finding] = check(of(SLOW, *FAST))
    assert (finding.check, finding.severity) == ("TD840", "warning")
    assert finding.message == (
        "Worker 2 of the 4 of `train_loader` at train.py:11 takes 100 ms for a batch, the others 20 ms: the "
        "training stands still for its batches 50% of the time."
    )
    assert finding.why.endswith(
        "Worker 2 was at train.py:30 (`image = decode(raw)`) in 94% of the looks at it while it made batches."
    )
    assert "`in_order=False`" in finding.fix
    assert finding.fix.endswith("About 40% of the time can be saved.")
    assert finding.where == line()
    assert finding.evidence["expected_gain"] == pytest.approx(0.4)


def test_without_a_line_it_is_the_loaders() -> None:
    [finding] = check(of(dataclasses.replace(SLOW, place=Place()), *FAST))
    assert finding.where == with_workers().made
    assert finding.why.endswith("the slowest.")


def test_two_of_six() -> None:
    other = worker(4, 0.09, waited_s=2.0)
    [finding] = check(of(SLOW, other, *FAST, worker(5)))
    assert finding.message.startswith("Workers 2 and 4 of the 4 of `train_loader` at train.py:11 take up to 100 ms")


def test_two_workers() -> None:
    assert check(of(SLOW, worker(0)))


def test_a_small_gain_is_a_note() -> None:
    [finding] = check(of(dataclasses.replace(SLOW, waited_s=1.0), *FAST))
    assert finding.severity == "note"
    assert not check(of(dataclasses.replace(SLOW, waited_s=0.6), *FAST))


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
    assert not check(of(dataclasses.replace(SLOW, **other), *FAST))  # type: ignore[arg-type]


def test_when_nothing_is_said() -> None:
    assert not check(of(SLOW, worker(1, 0.1, waited_s=5.0), worker(0, 0.1, waited_s=5.0), worker(3)))  # most are
    assert not check(of(SLOW, *FAST, in_order=False))
    assert not check(of(dataclasses.replace(SLOW, waited_s=0.5), *FAST, elapsed_s=0.9))
    assert not check(of(SLOW, *FAST), trained=0)
