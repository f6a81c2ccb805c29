"""collectives-out-of-order: every rank waits, and not in the same collective."""

from __future__ import annotations

from tests.checks.ranks.hanging import among_ranks, waiting
from tests.fakes import place

NAME = "collectives-out-of-order"


def test_the_words() -> None:
    facts = [waiting(rank, "all_reduce", 25, world=4) for rank in (0, 1, 3)]
    (finding,) = among_ranks(NAME, *facts, waiting(2, "barrier", 20, world=4), world=4)
    assert finding.message == (
        "Rank 2 waits in `barrier` at train.py:20, while ranks 0-1 and 3 wait in `all_reduce` at "
        "train.py:25: they "
        "call collectives in different orders (it is number 12 for all of them)."
    )
    assert finding.where.line == 20 and "condition" in finding.fix


def test_the_same_operation_at_another_line_is_another_collective() -> None:
    (finding,) = among_ranks(NAME, waiting(0, "all_reduce", 25), waiting(1, "all_reduce", 26))
    assert finding.where.line == 26


def test_one_line_is_one_collective() -> None:
    assert among_ranks(NAME, waiting(0, "all_reduce", 25), waiting(1, "all_reduce", 25)) == []


def test_a_condition_on_the_rank_is_another_fault() -> None:
    first = waiting(0, "barrier", 20, condition=place(19, code="if rank == 0:"))
    assert among_ranks(NAME, first, waiting(1, "all_reduce", 25)) == []
