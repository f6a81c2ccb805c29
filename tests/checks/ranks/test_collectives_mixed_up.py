"""collectives-mixed-up: calls of the same number that differ between ranks."""

from __future__ import annotations

import pytest

from tests.checks.ranks.digests import compared
from tests.fakes import crash, place
from torch_debugger.records import CollectiveKind, CollectivesFact, Place, RankEnd, Record

NAME = "collectives-mixed-up"


def kind(
    line: int, op: str = "all_reduce", shape: tuple[int, ...] = (), dtype: str = "float32", caller: int = 0
) -> CollectiveKind:
    return CollectiveKind(op, shape, dtype, place(line), place(caller) if caller else Place())


def calls(*kinds: CollectiveKind, first: int = 1, group: str = "0") -> CollectivesFact:
    return CollectivesFact(group, ((0, 1),), first, tuple(range(len(kinds))), kinds, 7)


LOSS, COUNT = kind(11, caller=33), kind(11, caller=34)


def test_the_words_where_a_call_of_one_rank_moves_the_next() -> None:
    (finding,) = compared(NAME, [calls(LOSS, COUNT)], [calls(COUNT)])
    assert finding.message == (
        "Collective 1 is `all_reduce` of float32 [] at train.py:11, called at train.py:33 on rank 0 and "
        "`all_reduce` of float32 [] at train.py:11, called at train.py:34 on rank 1: the line differs, so the "
        "ranks have put different things together."
    )
    assert (finding.severity, finding.where.line, finding.first_step) == ("error", 33, 7)
    assert "if rank == 0:" in finding.fix
    assert finding.evidence["calls_of_rank_0"] == 2.0


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        (kind(20, shape=(4,)), kind(20, shape=(6,)), "the size"),
        (kind(20, dtype="float64"), kind(20), "the dtype"),
        (kind(20, op="broadcast"), kind(20), "the operation"),
    ],
)
def test_forms_that_differ(one: CollectiveKind, other: CollectiveKind, what: str) -> None:
    (finding,) = compared(NAME, [calls(one)], [calls(other)])
    assert f"{what} differs" in finding.message
    assert finding.where.line == 20


def test_a_flat_tensor_is_the_same_size() -> None:
    assert compared(NAME, [calls(kind(20, shape=(2, 3)))], [calls(kind(21, shape=(6,)))]) == []


def test_roles_of_ranks_have_lines_of_their_own() -> None:
    own, others = kind(20, op="broadcast", shape=(4,)), kind(22, op="broadcast", shape=(4,))
    assert compared(NAME, [calls(own, others)], [calls(others, own)]) == []
    assert compared(NAME, [calls(kind(20), COUNT)], [calls(kind(22), COUNT)]) == []


def test_barriers_carry_nothing() -> None:
    early, late = kind(20, op="barrier", dtype=""), kind(22, op="barrier", dtype="")
    assert compared(NAME, [calls(early, late)], [calls(late)]) == []


def test_one_rank_has_stopped_sooner() -> None:
    assert compared(NAME, [calls(LOSS, COUNT, COUNT)], [calls(LOSS, COUNT)]) == []


def test_stretches_that_are_not_kept_are_not_compared() -> None:
    assert compared(NAME, [calls(kind(20, shape=(4,)), first=1)], [calls(kind(20, shape=(6,)), first=9)]) == []


def test_other_groups_are_not_compared() -> None:
    one, other = calls(kind(20, shape=(4,)), group="1"), calls(kind(20, shape=(6,)), group="2")
    assert compared(NAME, [one], [other]) == []


def test_how_the_run_ended() -> None:
    """What was ended from outside may have stood still, which is told as a hang."""
    one, other = calls(kind(20, shape=(4,))), calls(kind(20, shape=(6,)))
    killed: list[Record] = [one, RankEnd(0, 143, 5.0)]
    assert compared(NAME, killed, [other, RankEnd(1, 143, 6.0)]) == []
    aborted: list[Record] = [one, RankEnd(0, 134, 5.0)]
    assert len(compared(NAME, aborted, [other, RankEnd(1, 143, 6.0)])) == 1
    crashed: list[Record] = [one, crash("closed by peer"), RankEnd(0, 1, 5.0)]
    assert len(compared(NAME, crashed, [other, RankEnd(1, 143, 6.0)])) == 1
