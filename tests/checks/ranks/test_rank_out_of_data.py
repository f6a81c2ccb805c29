"""rank-out-of-data: one rank's loader is at its end, the others are in the middle of theirs."""

from __future__ import annotations

from tests.checks.ranks.hanging import among_ranks, waiting

NAME = "rank-out-of-data"


def test_the_words() -> None:
    done = waiting(3, "barrier", 30, world=4, batches=812, is_out_of_data=True)
    others = [waiting(rank, "backward", 88, world=4, batches=813) for rank in range(3)]
    (finding,) = among_ranks(NAME, *others, done, world=4)
    assert finding.message == (
        "Rank 3 finished its data at batch 812; ranks 0-2 wait at batch 813 in the exchange of gradients in "
        "backward() at train.py:88."
    )
    assert finding.where.line == 88 and "DistributedSampler" in finding.fix
    assert finding.evidence["batches of rank 3"] == 812


def test_all_at_the_end_of_their_data_is_another_fault() -> None:
    facts = [waiting(rank, "barrier", 30 + rank, batches=20, is_out_of_data=True) for rank in range(2)]
    assert among_ranks(NAME, *facts) == []


def test_one_that_is_further_has_not_run_out() -> None:
    done = waiting(0, "barrier", 30, batches=20, is_out_of_data=True)
    assert among_ranks(NAME, done, waiting(1, "backward", 88, batches=12)) == []
