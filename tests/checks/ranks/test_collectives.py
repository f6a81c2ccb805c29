from __future__ import annotations

import pytest

from tests.checks.ranks.facts import compared
from tests.checks.ranks.hanging import among_ranks, hang, waiting
from tests.fakes import crash, place
from torch_debugger.records import CollectiveKind, CollectivesFact, Place, RankEnd, Record
from torch_debugger.records.ranks import CALL

SHAPES_DIFFER = "collective-shapes-differ"


def test_the_words_where_shapes_differ() -> None:
    first = waiting(0, "all_gather", 25, shapes=("(4,) float32",))
    (finding,) = among_ranks(SHAPES_DIFFER, first, waiting(1, "all_gather", 25, shapes=("(6,) float32",)))
    assert finding.message == (
        "Rank 1 waits in `all_gather` at train.py:25 with (6,) float32, rank 0 with (4,) float32."
    )
    assert finding.evidence["tensors of rank 1"] == "(6,) float32"
    assert "pad" in finding.fix and finding.confidence > 0.9


def test_a_rank_that_has_left_brought_less() -> None:
    behind = waiting(0, "all_reduce", 27, sequence=21, shapes=("(4096,) float32",))
    (finding,) = among_ranks(SHAPES_DIFFER, behind, waiting(1, "all_reduce", 22, sequence=22, shapes=("(4,) float32",)))
    assert finding.message == (
        "Rank 0 waits in `all_reduce` at train.py:27 with (4096,) float32, which is collective number 21; rank 1 "
        "already left that number and waits in `all_reduce` at train.py:22: what rank 1 brought to it had another "
        "size."
    )
    assert finding.where.line == 27 and finding.confidence < 0.9


def test_shapes_that_prove_nothing_are_silent() -> None:
    # from a broadcast its source may go first
    behind = waiting(0, "broadcast", 27, sequence=21, shapes=("(4,) float32",))
    assert among_ranks(SHAPES_DIFFER, behind, waiting(1, "all_reduce", 22, sequence=22)) == []
    facts = [waiting(rank, "all_reduce", 25, shapes=("(4,) float32",)) for rank in range(2)]
    assert among_ranks(SHAPES_DIFFER, *facts) == [], "equal shapes are fine"


SKIPPED = "collective-skipped"
CONDITION = place(17, code="if rank == 0:")


def test_the_words_where_one_is_skipped() -> None:
    facts = (waiting(0, "barrier", 19, condition=CONDITION), waiting(1, "backward", 15), waiting(2, "backward", 15))
    (finding,) = among_ranks(SKIPPED, *facts, world=3)
    assert finding.message == (
        "Rank 0 waits in `barrier` at train.py:19 for ranks 1-2, which never come there: it is called under `if rank "
        "== 0:` at train.py:17. Ranks 1-2 wait in the exchange of gradients in backward() at train.py:15."
    )
    assert finding.where.line == 19 and "out of `if rank == 0:`" in finding.fix
    assert finding.evidence["rank 1"] == (
        "41 s in the exchange of gradients in backward() at train.py:15, 12 collectives begun"
    )


def test_collectives_that_are_not_skipped() -> None:
    facts = waiting(0, "barrier", 19, condition=CONDITION), waiting(1, "barrier", 19, condition=CONDITION)
    assert among_ranks(SKIPPED, *facts) == [], "the same line on all ranks is not skipped"
    # without a condition it is another fault
    assert among_ranks(SKIPPED, waiting(0, "barrier", 19), waiting(1, "backward", 15)) == []
    # a rank that works will come
    working = hang(CALL, rank=1, world=2, final=False, still_s=2.0)
    assert among_ranks(SKIPPED, waiting(0, "barrier", 19, condition=CONDITION), working) == []
    # a rank that stands for a reason of its own is the cause
    stuck = hang("lock", rank=1, world=2)
    assert among_ranks(SKIPPED, waiting(0, "barrier", 19, condition=CONDITION), stuck) == []


MIXED_UP = "collectives-mixed-up"


def kind(
    line: int, op: str = "all_reduce", shape: tuple[int, ...] = (), dtype: str = "float32", caller: int = 0
) -> CollectiveKind:
    return CollectiveKind(op, shape, dtype, place(line), place(caller) if caller else Place())


def calls(*kinds: CollectiveKind, first: int = 1, group: str = "0") -> CollectivesFact:
    return CollectivesFact(group, ((0, 1),), first, tuple(range(len(kinds))), kinds, 7)


LOSS, COUNT = kind(11, caller=33), kind(11, caller=34)


def test_the_words_where_a_call_of_one_rank_moves_the_next() -> None:
    (finding,) = compared(MIXED_UP, [calls(LOSS, COUNT)], [calls(COUNT)])
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
    (finding,) = compared(MIXED_UP, [calls(one)], [calls(other)])
    assert f"{what} differs" in finding.message
    assert finding.where.line == 20


def test_collectives_that_are_not_mixed_up() -> None:
    # a flat tensor is the same size
    assert compared(MIXED_UP, [calls(kind(20, shape=(2, 3)))], [calls(kind(21, shape=(6,)))]) == []
    # roles of ranks have lines of their own
    own, others = kind(20, op="broadcast", shape=(4,)), kind(22, op="broadcast", shape=(4,))
    assert compared(MIXED_UP, [calls(own, others)], [calls(others, own)]) == []
    assert compared(MIXED_UP, [calls(kind(20), COUNT)], [calls(kind(22), COUNT)]) == []
    early, late = kind(20, op="barrier", dtype=""), kind(22, op="barrier", dtype="")
    assert compared(MIXED_UP, [calls(early, late)], [calls(late)]) == [], "barriers carry nothing"
    assert compared(MIXED_UP, [calls(LOSS, COUNT, COUNT)], [calls(LOSS, COUNT)]) == [], "one rank has stopped sooner"
    # stretches that are not kept are not compared
    assert compared(MIXED_UP, [calls(kind(20, shape=(4,)), first=1)], [calls(kind(20, shape=(6,)), first=9)]) == []
    one, other = calls(kind(20, shape=(4,)), group="1"), calls(kind(20, shape=(6,)), group="2")
    assert compared(MIXED_UP, [one], [other]) == [], "other groups are not compared"


def test_how_the_run_ended() -> None:
    """What was ended from outside may have stood still, which is told as a hang."""
    one, other = calls(kind(20, shape=(4,))), calls(kind(20, shape=(6,)))
    killed: list[Record] = [one, RankEnd(0, 143, 5.0)]
    assert compared(MIXED_UP, killed, [other, RankEnd(1, 143, 6.0)]) == []
    aborted: list[Record] = [one, RankEnd(0, 134, 5.0)]
    assert len(compared(MIXED_UP, aborted, [other, RankEnd(1, 143, 6.0)])) == 1
    crashed: list[Record] = [one, crash("closed by peer"), RankEnd(0, 1, 5.0)]
    assert len(compared(MIXED_UP, crashed, [other, RankEnd(1, 143, 6.0)])) == 1


OUT_OF_ORDER = "collectives-out-of-order"


def test_the_words_where_orders_differ() -> None:
    facts = [waiting(rank, "all_reduce", 25, world=4) for rank in (0, 1, 3)]
    (finding,) = among_ranks(OUT_OF_ORDER, *facts, waiting(2, "barrier", 20, world=4), world=4)
    assert finding.message == (
        "Rank 2 waits in `barrier` at train.py:20, while ranks 0-1 and 3 wait in `all_reduce` at train.py:25: they "
        "call collectives in different orders (it is number 12 for all of them)."
    )
    assert finding.where.line == 20 and "condition" in finding.fix


def test_collectives_that_are_in_order() -> None:
    (finding,) = among_ranks(OUT_OF_ORDER, waiting(0, "all_reduce", 25), waiting(1, "all_reduce", 26))
    assert finding.where.line == 26, "the same operation at another line is another collective"
    # one line is one collective
    assert among_ranks(OUT_OF_ORDER, waiting(0, "all_reduce", 25), waiting(1, "all_reduce", 25)) == []
    first = waiting(0, "barrier", 20, condition=place(19, code="if rank == 0:"))
    assert among_ranks(OUT_OF_ORDER, first, waiting(1, "all_reduce", 25)) == [], (
        "a condition on the rank is another fault"
    )
