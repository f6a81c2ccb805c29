from __future__ import annotations

import dataclasses

import pytest

from tests.checks.ranks.hanging import among_ranks, hang, waiting
from tests.fakes import judged_ranks, only, place
from torch_debugger.checks.judge import RanksJudge
from torch_debugger.records import (
    CollectiveKind,
    CollectivesFact,
    CrashFact,
    CrashFrame,
    EndFact,
    Finding,
    LoaderFact,
    LossSite,
    Place,
    RankEnd,
    RankFact,
    Record,
)
from torch_debugger.records.ranks import ENDED

GONE = "rank-gone"


def ended(rank: int) -> RankEnd:
    return RankEnd(rank, 0, 10.0, 31)


def test_the_words_of_one_that_is_gone() -> None:
    (finding,) = among_ranks(GONE, waiting(0, "new_group", 31), others={1: ended(1)})
    assert finding.message == (
        "Rank 1 has reached the end of its script, and the others wait for it. "
        "Rank 0 waits in `new_group` at train.py:31."
    )
    assert "`return`, `break` or shorter loop" in finding.fix and finding.where.line == 31


def test_a_crash_is_named_with_its_line() -> None:
    crash = CrashFact("KeyError", "'label'", (), Place("train.py", 12), None, "", 3)
    (finding,) = among_ranks(GONE, waiting(0, "new_group", 31), others={1: crash})
    assert finding.message.startswith("Rank 1 has crashed with KeyError at train.py:12 ('label'), and")
    assert finding.where.line == 12
    assert finding.fix.startswith("Mend what ended rank 1. Start the ranks with torchrun")


def test_the_end_of_the_other_takes_nothing_back() -> None:
    gone = hang(ENDED, rank=1, world=2, final=False, still_s=0.0)
    over = EndFact("finished", 31, "optimizer steps")
    left: list[tuple[int, Record]] = [(1, gone), (1, over)]
    stays = waiting(0, "new_group", 31)
    for records in ([*left, (0, stays)], [(0, stays), *left, (0, stays)], [(1, gone), (0, stays), (1, over)]):
        judge = RanksJudge([GONE])
        for rank, record in records:
            judge.see(record, rank)
        (finding,) = judge.findings
        assert finding.severity == "error"


def test_one_that_told_its_end_itself() -> None:
    gone = hang(ENDED, rank=1, world=2, final=False, still_s=0.0)
    assert "has reached the end of its script" in only(among_ranks(GONE, gone, waiting(0, "new_group", 31))).message


def test_an_end_that_is_told_or_not_the_cause_is_silent() -> None:
    # The others may have gone on and ended too: their logs are read later.
    gone = hang(ENDED, rank=1, world=2, final=False, still_s=0.0)
    assert among_ranks(GONE, waiting(0, "new_group", 31), gone) == [], "its end alone says nothing"
    # a rank that was ended while it stood is not the cause
    facts = waiting(0, "barrier", 19), waiting(1, "backward", 15)
    assert among_ranks(GONE, *facts, others={0: ended(0)}) == []


KILLED = "rank-killed"


def end(rank: int, exit_code: int, ended: float = 10.0, steps: int = 31) -> RankEnd:
    return RankEnd(rank, exit_code, ended, steps)


def killed(*ends: RankEnd, **others: Record) -> list[Finding]:
    records: dict[int, list[Record]] = {each.rank: [LossSite("loss", place(24), 1), each] for each in ends}
    for name, record in others.items():
        records[int(name[-1])].append(record)
    return judged_ranks(records, KILLED)


def test_the_words_of_one_that_was_killed() -> None:
    (finding,) = killed(end(0, 143, 10.4), end(1, 137), end(2, 143, 10.5))
    assert finding.message == (
        "Rank 1 was ended by signal 9 (SIGKILL) after 31 steps; no exception was met on it, "
        "and ranks 0 and 2 ended after it."
    )
    assert finding.why.startswith("SIGKILL leaves no message")
    assert "dmesg" in finding.fix
    assert (finding.severity, finding.where, finding.first_step) == ("error", place(24), 31)
    assert finding.evidence == {"rank": 1, "signal": "SIGKILL", "exit_code": 137, "steps": 31}


@pytest.mark.parametrize(
    ("code", "word"), [(139, "faulthandler"), (135, "faulthandler"), (134, "last lines"), (137, "memory")]
)
def test_each_signal_has_its_advice(code: int, word: str) -> None:
    (finding,) = killed(end(0, 0), end(1, code, steps=1))
    assert word in finding.fix
    assert "after 1 step;" in finding.message


@pytest.mark.parametrize("code", [0, 1, 2, 130, 143, 129, 128 + 100])
def test_ends_that_are_no_such_signal(code: int) -> None:
    assert killed(end(0, 0), end(1, code)) == []


def test_the_first_failure_counts_and_an_exception_says_more() -> None:
    # What is killed after another has failed was killed for that.
    assert killed(end(0, 1, 9.0), end(1, 137, 39.0)) == [], "only the first failure counts"
    # a kill that is noticed after the lost connection of another rank is its cause
    crash = CrashFact("RuntimeError", "Connection closed by peer", (), Place(), None, "", 31)
    assert only(killed(end(0, 1, 10.0), end(1, 137, 12.0), crash_0=crash)).evidence["rank"] == 1
    crash = CrashFact("ValueError", "", (), Place(), None, "", 31)
    assert killed(end(0, 143, 11.0), end(1, 134), crash_1=crash) == [], "an exception on that rank says more"


def test_the_place_is_that_of_another_rank_or_left_open() -> None:
    # a log that lost its line is given that of the others
    site = LossSite("loss", place(24), 1)
    assert only(judged_ranks({0: [site, end(0, 143, 11.0)], 1: [end(1, 137)]}, KILLED)).where == place(24)
    # without a training line the place is left open
    assert only(judged_ranks({0: [end(0, 143, 11.0)], 1: [end(1, 137)]}, KILLED)).where == Place()


@pytest.mark.parametrize("step", [31, 32])
def test_the_collective_in_which_a_backend_gave_up(step: int) -> None:
    kinds = (CollectiveKind("barrier", (), "", place(9)), CollectiveKind("all_reduce", (2,), "float32", place(39)))
    calls = CollectivesFact("0", ((0, 1),), 1, (0, 1), kinds, step)
    (finding,) = killed(end(0, 143, 11.0), end(1, 134), calls_1=calls)
    assert "The last collective that it called was `all_reduce` of float32 [2] at train.py:39." in finding.message
    assert finding.where == place(39)
    assert "with a tensor of the same size" in finding.fix


def test_a_collective_of_steps_before_says_nothing() -> None:
    calls = CollectivesFact("0", ((0, 1),), 1, (0,), (CollectiveKind("barrier", (), "", place(9)),), 12)
    (finding,) = killed(end(0, 143, 11.0), end(1, 134), calls_1=calls)
    assert finding.where == place(24)
    assert "last lines" in finding.fix


LEFT_EARLY = "rank-left-early"
USERS = CrashFrame("net.py", 33, "train", "loss.backward()", True, None, None, (), failing="loss.backward()")
TORCHS = CrashFrame("lib/torch/autograd/graph.py", 9, "_engine_run_backward", "", False, None, None, ())
CRASH = CrashFact("RuntimeError", "Connection closed", (USERS, TORCHS), place(33), None, "", 41)
LEFT = RankEnd(1, 0, 10.0, 40)


def left_early(crash: CrashFact = CRASH, left: RankEnd = LEFT, *others: Record) -> list[Finding]:
    facts = [RankFact(rank, rank, 2, "gloo", "here", 100 + rank) for rank in (0, 1)]
    return judged_ranks({0: [facts[0], crash, RankEnd(0, 1, 12.0, 40)], 1: [facts[1], *others, left]}, LEFT_EARLY)


def test_the_words_of_one_that_left() -> None:
    (finding,) = left_early()
    assert finding.message == (
        "Rank 1 has reached the end of the script after 40 steps, while rank 0 went on to step 41 and lost it "
        "in `loss.backward()` at train.py:33."
    )
    assert "`break`, `return` or `sys.exit` by which rank 1 leaves after its step 40" in finding.fix
    assert (finding.severity, finding.where, finding.first_step) == ("error", place(33), 41)


def test_before_python_3_11_the_expression_is_not_known() -> None:
    (finding,) = left_early(dataclasses.replace(CRASH, frames=(dataclasses.replace(USERS, failing=""), TORCHS)))
    assert "lost it in a collective at train.py:33" in finding.message


def test_a_rank_that_has_not_left_early() -> None:
    assert left_early(dataclasses.replace(CRASH, frames=(USERS,))) == [], "a crash elsewhere is its own"
    # a rank that failed or ended later has not left
    assert left_early(CRASH, dataclasses.replace(LEFT, exit_code=1)) == []
    assert left_early(CRASH, dataclasses.replace(LEFT, ended=13.0, steps=41)) == []
    assert left_early(CRASH, dataclasses.replace(LEFT, ended=30.0)) == []
    # a busy machine may end its process after the one that crashed
    assert len(left_early(CRASH, dataclasses.replace(LEFT, ended=13.0))) == 1
    # a rank that went further or never trained is another matter
    assert left_early(CRASH, dataclasses.replace(LEFT, steps=90)) == []
    assert left_early(CRASH, dataclasses.replace(LEFT, steps=0)) == []
    told = hang(ENDED, rank=1, world=2, final=False, still_s=0.0, is_out_of_data=True)
    assert left_early(CRASH, LEFT, told) == [], "one that ran out of batches is told elsewhere"


def test_one_that_had_ended_when_it_was_asked_to_has_left() -> None:
    """mp.spawn does so when another rank has failed, and may find it still writing its log."""
    asked = dataclasses.replace(LEFT, exit_code=143, ended=13.0)
    assert len(left_early(CRASH, asked, EndFact("finished", 0, ""))) == 1
    assert left_early(CRASH, asked, EndFact("stopped", 0, "")) == []
    assert left_early(CRASH, asked) == []


def test_nor_is_the_end_of_an_epoch_a_reason_where_all_have_as_many_batches() -> None:
    told = hang(ENDED, rank=1, world=2, final=False, still_s=0.0, is_out_of_data=True)
    loader = LoaderFact("Share", 32, 20, 0, True, place(22), 1, number=1)
    facts = [RankFact(rank, rank, 2, "gloo", "here", 100 + rank) for rank in (0, 1)]
    ends = RankEnd(0, 1, 12.0, 40), LEFT
    records: dict[int, list[Record]] = {0: [facts[0], loader, CRASH, ends[0]], 1: [facts[1], loader, told, ends[1]]}
    assert len(judged_ranks(records, LEFT_EARLY)) == 1
    records[0][1] = dataclasses.replace(loader, length=33)
    assert judged_ranks(records, LEFT_EARLY) == []
