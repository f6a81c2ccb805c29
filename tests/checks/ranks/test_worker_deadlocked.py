"""worker-deadlocked: the worker whose turn it is waits for a lock."""

from __future__ import annotations

import pytest

from tests.checks.ranks.hanging import alone, at_loader, standing
from torch_debugger.records.ranks import LOCK, LOOP, READ

NAME = "worker-deadlocked"


def test_the_words() -> None:
    worker = standing("worker 1", 9, kind=LOCK, code="with lock:")
    (finding,) = alone(NAME, at_loader(worker))
    assert finding.message == (
        "The training has waited 41 s for batch 16 of the loader at train.py:40: worker 1 waits for a lock in "
        "`with lock:` at train.py:9 and computes nothing."
    )
    assert finding.where.line == 9 and "worker_init_fn" in finding.fix
    assert finding.evidence["worker 1"] == "waits for a lock at train.py:9"


@pytest.mark.parametrize("kind", [LOOP, READ, ""])
def test_other_workers_are_not_its_business(kind: str) -> None:
    assert alone(NAME, at_loader(standing("worker 1", 9, kind=kind))) == []
