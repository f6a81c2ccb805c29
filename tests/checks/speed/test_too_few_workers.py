"""The loader has workers, and the training still waits."""

from __future__ import annotations

import pytest

from tests.checks.data.looks import loader
from tests.checks.speed.loads import times, waiting
from tests.fakes import place
from torch_debugger.records import Finding, LoaderFact, LoadingTime

MADE = place(11, code="train_loader = DataLoader(data, batch_size=8, num_workers=2)")


def with_workers(workers: int = 2) -> LoaderFact:
    return loader(workers=workers, made=MADE)


def slow(wait_s: float = 0.03, busy: float = 0.1, batch_s: float = 0.05, **others: object) -> LoadingTime:
    """Two workers that compute for this share of their time."""
    facts: dict[str, object] = {"wait_cpu_s": 0.0, "cpu_s": 100 * (batch_s - wait_s)}
    facts |= {"workers_cpu_s": 100 * 2 * batch_s * busy, **others}
    return times(wait_s, batch_s, **facts)  # type: ignore[arg-type]


def check(time: LoadingTime | None = None, fact: LoaderFact | None = None, cores: int = 8) -> list[Finding]:
    return waiting("too-few-workers", time or slow(), fact or with_workers(), cores)


def test_workers_that_wait_for_a_disk() -> None:
    [finding] = check(cores=2)
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
    assert finding.edit is not None
    assert finding.edit.after == "train_loader = DataLoader(data, batch_size=8, num_workers=5)"
    assert finding.evidence["expected_gain"] == pytest.approx(0.6)


def test_cores_that_are_left() -> None:
    [finding] = check(slow(busy=0.95))
    assert "the training and they use 2.3 of the 8 cores: some are left." in finding.why
    assert "num_workers=5" in finding.fix


def test_no_core_is_left() -> None:
    [finding] = check(slow(busy=0.9), cores=2)
    assert "more workers would only take the cores from each other" in finding.why
    assert finding.fix.startswith("Do less for each sample")
    assert finding.edit is None
    assert finding.evidence["expected_gain"] == pytest.approx(0.6)


def test_one_worker() -> None:
    [finding] = check(slow(workers_cpu_s=1.0), with_workers(1))
    assert "the one worker of `train_loader` at train.py:11 does not keep up" in finding.message


def test_a_crowded_machine_says_nothing() -> None:
    queued = {"stretch": 3.0, "workers_queued_s": 1.5}
    assert not check(slow(wait_s=0.015, batch_s=0.05, cpu_s=0.7, **queued), cores=2)
    assert check(slow(wait_s=0.045, batch_s=0.05, busy=0.02, cpu_s=0.3, stretch=3.0), cores=2)  # a disk


def test_thresholds() -> None:
    assert not check(slow(wait_s=0.0124))
    assert not check(slow(wait_s=0.0049, batch_s=0.01))
    assert not check(slow(workers_cpu_s=None))
    assert not check(fact=loader())
