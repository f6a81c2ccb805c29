"""collective-shapes-differ: one operation, tensors of different shapes."""

from __future__ import annotations

from tests.checks.ranks.hanging import among_ranks, waiting

NAME = "collective-shapes-differ"


def test_the_words() -> None:
    first = waiting(0, "all_gather", 25, shapes=("(4,) float32",))
    (finding,) = among_ranks(NAME, first, waiting(1, "all_gather", 25, shapes=("(6,) float32",)))
    assert finding.message == (
        "Rank 1 waits in `all_gather` at train.py:25 with (6,) float32, rank 0 with (4,) float32."
    )
    assert finding.evidence["tensors of rank 1"] == "(6,) float32"
    assert "pad" in finding.fix and finding.confidence > 0.9


def test_a_rank_that_has_left_brought_less() -> None:
    behind = waiting(0, "all_reduce", 27, sequence=21, shapes=("(4096,) float32",))
    (finding,) = among_ranks(NAME, behind, waiting(1, "all_reduce", 22, sequence=22, shapes=("(4,) float32",)))
    assert finding.message == (
        "Rank 0 waits in `all_reduce` at train.py:27 with (4096,) float32, which is collective number 21; "
        "rank 1 "
        "already left that number and waits in `all_reduce` at train.py:22: what rank 1 brought to it had "
        "another "
        "size."
    )
    assert finding.where.line == 27 and finding.confidence < 0.9


def test_from_a_broadcast_its_source_may_go_first() -> None:
    behind = waiting(0, "broadcast", 27, sequence=21, shapes=("(4,) float32",))
    assert among_ranks(NAME, behind, waiting(1, "all_reduce", 22, sequence=22)) == []


def test_equal_shapes_are_fine() -> None:
    facts = [waiting(rank, "all_reduce", 25, shapes=("(4,) float32",)) for rank in range(2)]
    assert among_ranks(NAME, *facts) == []
