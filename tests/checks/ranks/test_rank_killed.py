"""rank-killed: the first rank to fail, by a signal and without an exception."""

from __future__ import annotations

import pytest

from tests.fakes import judged_ranks, place
from torch_debugger.records import CollectiveKind, CollectivesFact, CrashFact, Finding, LossSite, Place, RankEnd, Record

NAME = "rank-killed"


def end(rank: int, exit_code: int, ended: float = 10.0, steps: int = 31) -> RankEnd:
    return RankEnd(rank, exit_code, ended, steps)


def found(*ends: RankEnd, **others: Record) -> list[Finding]:
    records: dict[int, list[Record]] = {each.rank: [LossSite("loss", place(24), 1), each] for each in ends}
    for name, record in others.items():
        records[int(name[-1])].append(record)
    return judged_ranks(records, NAME)


def test_the_words() -> None:
    (finding,) = found(end(0, 143, 10.4), end(1, 137), end(2, 143, 10.5))
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
    (finding,) = found(end(0, 0), end(1, code, steps=1))
    assert word in finding.fix
    assert "after 1 step;" in finding.message


@pytest.mark.parametrize("code", [0, 1, 2, 130, 143, 129, 128 + 100])
def test_ends_that_are_no_such_signal(code: int) -> None:
    assert found(end(0, 0), end(1, code)) == []


def test_only_the_first_failure_counts() -> None:
    """What is killed after another has failed was killed for that."""
    assert found(end(0, 1, 9.0), end(1, 137, 39.0)) == []


def test_a_kill_that_is_noticed_after_the_lost_connection_of_another_rank_is_its_cause() -> None:
    crash = CrashFact("RuntimeError", "Connection closed by peer", (), Place(), None, "", 31)
    (finding,) = found(end(0, 1, 10.0), end(1, 137, 12.0), crash_0=crash)
    assert finding.evidence["rank"] == 1


def test_an_exception_on_that_rank_says_more() -> None:
    crash = CrashFact("ValueError", "", (), Place(), None, "", 31)
    assert found(end(0, 143, 11.0), end(1, 134), crash_1=crash) == []


def test_a_log_that_lost_its_line_is_given_that_of_the_others() -> None:
    site = LossSite("loss", place(24), 1)
    (finding,) = judged_ranks({0: [site, end(0, 143, 11.0)], 1: [end(1, 137)]}, NAME)
    assert finding.where == place(24)


def test_without_a_training_line_the_place_is_left_open() -> None:
    (finding,) = judged_ranks({0: [end(0, 143, 11.0)], 1: [end(1, 137)]}, NAME)
    assert finding.where == Place()


@pytest.mark.parametrize("step", [31, 32])
def test_the_collective_in_which_a_backend_gave_up(step: int) -> None:
    kinds = (
        CollectiveKind("barrier", (), "", place(9)),
        CollectiveKind("all_reduce", (2,), "float32", place(39)),
    )
    calls = CollectivesFact("0", ((0, 1),), 1, (0, 1), kinds, step)
    (finding,) = found(end(0, 143, 11.0), end(1, 134), calls_1=calls)
    assert "The last collective that it called was `all_reduce` of float32 [2] at train.py:39." in finding.message
    assert finding.where == place(39)
    assert "with a tensor of the same size" in finding.fix


def test_a_collective_of_steps_before_says_nothing() -> None:
    calls = CollectivesFact("0", ((0, 1),), 1, (0,), (CollectiveKind("barrier", (), "", place(9)),), 12)
    (finding,) = found(end(0, 143, 11.0), end(1, 134), calls_1=calls)
    assert finding.where == place(24)
    assert "last lines" in finding.fix
