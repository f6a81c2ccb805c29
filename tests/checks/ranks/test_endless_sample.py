"""endless-sample: a dataset that does not come back from one batch."""

from __future__ import annotations

import pytest

from tests.checks.ranks.hanging import alone, at_loader, hang, standing
from torch_debugger.records.ranks import LOCK, LOOP, READ, SLEEP

NAME = "endless-sample"


def test_the_words() -> None:
    (finding,) = alone(NAME, hang(LOOP, 18, batches=9))
    assert finding.message == (
        "The training has waited 41 s for batch 10: the dataset loops at train.py:18 and does not come back."
    )
    assert "attempts" in finding.fix and finding.where.line == 18


def test_a_batch_that_is_not_known_is_the_next() -> None:
    (finding,) = alone(NAME, hang(LOOP, 18))
    assert "for the next batch: the dataset" in finding.message


@pytest.mark.parametrize(("kind", "does"), [(LOOP, "loops"), (SLEEP, "sleeps")])
def test_a_worker_is_named(kind: str, does: str) -> None:
    (finding,) = alone(NAME, at_loader(standing("worker 0", 18, kind=kind)))
    assert f"for batch 16: worker 0 {does} at train.py:18" in finding.message


@pytest.mark.parametrize("kind", [LOCK, READ, ""])
def test_workers_that_wait_are_not_its_business(kind: str) -> None:
    assert alone(NAME, at_loader(standing("worker 0", 18, kind=kind))) == []
