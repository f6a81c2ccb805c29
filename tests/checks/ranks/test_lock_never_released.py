"""lock-never-released: the training waits for a lock, queue or event that nobody gives."""

from __future__ import annotations

import pytest

from tests.checks.ranks.hanging import alone, among_ranks, hang, standing, waiting
from torch_debugger.records import EndFact, HangOver
from torch_debugger.records.ranks import CALL, EVENT, LOCK, SLEEP

NAME = "lock-never-released"


def test_the_words() -> None:
    (finding,) = alone(NAME, hang(LOCK))
    assert finding.message == (
        "The training has stood still for 41 s at step 23: `lock.acquire()` at train.py:40 waits for a lock "
        "that is "
        "never released."
    )
    assert "no other thread of yours" in finding.why and "was 0.3 s" in finding.why
    assert "with lock:" in finding.fix
    assert (finding.severity, finding.where.line, finding.first_step) == ("error", 40, 23)


def test_other_threads_are_named() -> None:
    thread = standing("thread pump", 12)
    fact = hang(EVENT, call="ready.get()", stacks=(standing("training", 40), thread))
    (finding,) = alone(NAME, fact)
    assert "(pump at train.py:12)" in finding.why
    assert finding.evidence["thread pump"] == "at train.py:12"
    assert "timeout" in finding.fix


def test_ranks_that_wait_for_it_are_named() -> None:
    facts = waiting(0, "all_reduce", 37), hang(LOCK, 16, rank=1, world=2)
    (finding,) = among_ranks(NAME, *facts)
    assert finding.message.startswith("Rank 1 has stood still")
    assert finding.message.endswith("Rank 0 waits in `all_reduce` at train.py:37.")


@pytest.mark.parametrize("kind", [CALL, SLEEP])
def test_other_waits_are_not_its_business(kind: str) -> None:
    assert alone(NAME, hang(kind)) == []


def test_nothing_is_said_before_it_is_sure() -> None:
    assert alone(NAME, hang(LOCK, final=False)) == []


def test_what_went_on_is_a_note() -> None:
    (finding,) = alone(NAME, hang(LOCK), HangOver(None, 24, 65.0))
    assert finding.severity == "note"
    assert finding.message.startswith("The training stood still for 65 s and then went on by itself.")


@pytest.mark.parametrize(("outcome", "severity"), [("finished", "note"), ("stopped", "error"), ("crashed", "error")])
def test_one_that_reached_its_end_did_not_hang(outcome: str, severity: str) -> None:
    (finding,) = alone(NAME, hang(LOCK), EndFact(outcome, 30, "steps"))
    assert finding.severity == severity
