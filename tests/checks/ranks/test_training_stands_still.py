"""training-stands-still: what no other check knows more about."""

from __future__ import annotations

import pytest

from tests.checks.ranks.hanging import alone, among_ranks, hang, standing, waiting
from torch_debugger.records import GroupState
from torch_debugger.records.ranks import CALL, EXIT, INPUT, LOADER, LOCK, PROCESS

NAME = "training-stands-still"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (PROCESS, "it waits for another program at train.py:40."),
        (CALL, "it waits in `lock.acquire()` at train.py:40."),
        (EXIT, "it has reached the end of its script and waits for its threads to end at train.py:40."),
        (LOADER, "it waits for its DataLoader at train.py:40."),
        (INPUT, "it waits for input that nobody can type at train.py:40."),
    ],
)
def test_the_words(kind: str, words: str) -> None:
    (finding,) = alone(NAME, hang(kind))
    assert finding.message == f"The training has stood still for 41 s at step 23: {words}"
    assert "stacks" in finding.fix


def test_where_another_check_knows_more_it_is_folded_under_that() -> None:
    from torch_debugger.checks.judge import Judge

    judge = Judge()
    judge.see(hang(LOCK))
    assert [finding.name for finding in judge.findings] == ["lock-never-released"]


def test_ranks_at_one_and_the_same_line() -> None:
    facts = [waiting(rank, "all_reduce", 37) for rank in range(2)]
    (finding,) = among_ranks(NAME, *facts)
    assert finding.message == ("All 2 ranks have stood still for 41 s: ranks 0-1 in `all_reduce` at train.py:37.")


def test_a_rank_that_runs_brings_the_others_on() -> None:
    running = hang(CALL, rank=0, world=2, final=False, still_s=0.0)
    assert among_ranks(NAME, running, waiting(1, "barrier", 37)) == []


def test_a_rank_that_has_told_nothing_may_run() -> None:
    assert among_ranks(NAME, waiting(1, "barrier", 37)) == []


def test_with_nccl_it_says_what_helps_the_next_time() -> None:
    group = GroupState("0", "nccl", (0, 1), 12)
    facts = [waiting(rank, "all_reduce", 37, groups=(group,)) for rank in range(2)]
    (finding,) = among_ranks(NAME, *facts)
    assert (
        "TORCH_NCCL_ASYNC_ERROR_HANDLING (before torch 2.2: NCCL_ASYNC_ERROR_HANDLING" in finding.fix
        and "TORCH_FR_BUFFER_SIZE=2000" in finding.fix
    )
    recorded = [waiting(rank, "all_reduce", 37, groups=(group,), recorded=("all_reduce",)) for rank in range(2)]
    (finding,) = among_ranks(NAME, *recorded)
    assert "TORCH_FR_BUFFER_SIZE" not in finding.fix and finding.evidence["recorded 1"] == "all_reduce"


def test_it_is_the_rank_that_waits_for_something_else() -> None:
    at_prompt = hang(INPUT, 23, rank=0, world=2, stacks=(standing("training", 23),))
    (finding,) = among_ranks(NAME, at_prompt, waiting(1, "all_reduce", 37, still_s=60.0))
    assert finding.message.startswith("Rank 0 has stood still") and finding.where.line == 23
