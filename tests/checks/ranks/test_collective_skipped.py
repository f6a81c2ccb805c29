"""collective-skipped: a collective under a condition on the rank."""

from __future__ import annotations

from tests.checks.ranks.hanging import among_ranks, hang, waiting
from tests.fakes import place
from torch_debugger.records.ranks import CALL

NAME = "collective-skipped"
CONDITION = place(17, code="if rank == 0:")


def test_the_words() -> None:
    facts = (
        waiting(0, "barrier", 19, condition=CONDITION),
        waiting(1, "backward", 15),
        waiting(2, "backward", 15),
    )
    (finding,) = among_ranks(NAME, *facts, world=3)
    assert finding.message == (
        "Rank 0 waits in `barrier` at train.py:19 for ranks 1-2, which never come there: it is called under "
        "`if rank == 0:` at train.py:17. Ranks 1-2 wait in the exchange of gradients in backward() at "
        "train.py:15."
    )
    assert finding.where.line == 19 and "out of `if rank == 0:`" in finding.fix
    assert finding.evidence["rank 1"] == (
        "41 s in the exchange of gradients in backward() at train.py:15, 12 collectives begun"
    )


def test_the_same_line_on_all_ranks_is_not_skipped() -> None:
    facts = waiting(0, "barrier", 19, condition=CONDITION), waiting(1, "barrier", 19, condition=CONDITION)
    assert among_ranks(NAME, *facts) == []


def test_without_a_condition_it_is_another_fault() -> None:
    assert among_ranks(NAME, waiting(0, "barrier", 19), waiting(1, "backward", 15)) == []


def test_a_rank_that_works_will_come() -> None:
    working = hang(CALL, rank=1, world=2, final=False, still_s=2.0)
    assert among_ranks(NAME, waiting(0, "barrier", 19, condition=CONDITION), working) == []


def test_a_rank_that_stands_for_a_reason_of_its_own_is_the_cause() -> None:
    stuck = hang("lock", rank=1, world=2)
    assert among_ranks(NAME, waiting(0, "barrier", 19, condition=CONDITION), stuck) == []
