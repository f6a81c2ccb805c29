"""Workers that are started again for every pass."""

from __future__ import annotations

import pytest

from tests.checks.data.looks import loader
from tests.checks.speed.loads import times, waiting
from tests.fakes import place
from torch_debugger.records import Finding, LoaderFact, LoadingTime

MADE = place(11, code="train_loader = DataLoader(data, batch_size=8, num_workers=2)")


def passes(**others: object) -> LoadingTime:
    """Ten batches a pass of 10 ms each, after 100 ms to start and 50 ms to end the workers."""
    facts: dict[str, object] = {"passes": 10, "passes_s": 2.5, "opening_s": 0.1, "closing_s": 0.05}
    return times(0.0, 0.025, **{**facts, **others})  # type: ignore[arg-type]


def check(time: LoadingTime | None = None, fact: LoaderFact | None = None) -> list[Finding]:
    return waiting("workers-started-each-pass", time or passes(), fact or loader(workers=2, made=MADE))


def test_short_passes() -> None:
    [finding] = check()
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
    [finding] = check(time)
    assert finding.severity == "note"


def test_what_is_no_matter() -> None:
    assert not check(passes(passes=2))
    assert not check(passes(passes_s=30.0))  # 4 % of the time
    assert not check(passes(opening_s=0.03, closing_s=0.005))
    assert not check(fact=loader(workers=2, persistent=True))
    assert not check(fact=loader())
