"""rank-gone: a rank has ended and the others wait for it."""

from __future__ import annotations

from tests.checks.ranks.hanging import among_ranks, hang, waiting
from torch_debugger.checks.judge import RanksJudge
from torch_debugger.records import CrashFact, EndFact, Place, RankEnd, Record
from torch_debugger.records.ranks import ENDED

NAME = "rank-gone"


def ended(rank: int) -> RankEnd:
    return RankEnd(rank, 0, 10.0, 31)


def test_the_words() -> None:
    (finding,) = among_ranks(NAME, waiting(0, "new_group", 31), others={1: ended(1)})
    assert finding.message == (
        "Rank 1 has reached the end of its script, and the others wait for it. "
        "Rank 0 waits in `new_group` at train.py:31."
    )
    assert "`return`, `break` or shorter loop" in finding.fix and finding.where.line == 31


def test_a_crash_is_named_with_its_line() -> None:
    crash = CrashFact("KeyError", "'label'", (), Place("train.py", 12), None, "", 3)
    (finding,) = among_ranks(NAME, waiting(0, "new_group", 31), others={1: crash})
    assert finding.message.startswith("Rank 1 has crashed with KeyError at train.py:12 ('label'), and")
    assert finding.where.line == 12
    assert finding.fix.startswith("Mend what ended rank 1. Start the ranks with torchrun")


def test_the_end_of_the_other_takes_nothing_back() -> None:
    gone = hang(ENDED, rank=1, world=2, final=False, still_s=0.0)
    over = EndFact("finished", 31, "optimizer steps")
    left: list[tuple[int, Record]] = [(1, gone), (1, over)]
    stays = waiting(0, "new_group", 31)
    for records in ([*left, (0, stays)], [(0, stays), *left, (0, stays)], [(1, gone), (0, stays), (1, over)]):
        judge = RanksJudge([NAME])
        for rank, record in records:
            judge.see(record, rank)
        (finding,) = judge.findings
        assert finding.severity == "error"


def test_one_that_told_its_end_itself() -> None:
    gone = hang(ENDED, rank=1, world=2, final=False, still_s=0.0)
    (finding,) = among_ranks(NAME, gone, waiting(0, "new_group", 31))
    assert "has reached the end of its script" in finding.message


def test_its_end_alone_says_nothing() -> None:
    """The others may have gone on and ended too: their logs are read later."""
    gone = hang(ENDED, rank=1, world=2, final=False, still_s=0.0)
    assert among_ranks(NAME, waiting(0, "new_group", 31), gone) == []


def test_a_rank_that_was_ended_while_it_stood_is_not_the_cause() -> None:
    facts = waiting(0, "barrier", 19), waiting(1, "backward", 15)
    assert among_ranks(NAME, *facts, others={0: ended(0)}) == []
