"""rank-left-early: a rank ends in good order, and another loses it in a collective."""

from __future__ import annotations

import dataclasses

from tests.checks.ranks.hanging import hang
from tests.fakes import judged_ranks, place
from torch_debugger.records import CrashFact, CrashFrame, EndFact, Finding, LoaderFact, RankEnd, RankFact, Record
from torch_debugger.records.ranks import ENDED

NAME = "rank-left-early"
USERS = CrashFrame("net.py", 33, "train", "loss.backward()", True, None, None, (), failing="loss.backward()")
TORCHS = CrashFrame("lib/torch/autograd/graph.py", 9, "_engine_run_backward", "", False, None, None, ())
CRASH = CrashFact("RuntimeError", "Connection closed", (USERS, TORCHS), place(33), None, "", 41)
LEFT = RankEnd(1, 0, 10.0, 40)


def found(crash: CrashFact = CRASH, left: RankEnd = LEFT, *others: Record) -> list[Finding]:
    facts = [RankFact(rank, rank, 2, "gloo", "here", 100 + rank) for rank in (0, 1)]
    return judged_ranks({0: [facts[0], crash, RankEnd(0, 1, 12.0, 40)], 1: [facts[1], *others, left]}, NAME)


def test_the_words() -> None:
    (finding,) = found()
    assert finding.message == (
        "Rank 1 has reached the end of the script after 40 steps, while rank 0 went on to step 41 and lost it "
        "in `loss.backward()` at train.py:33."
    )
    assert "`break`, `return` or `sys.exit` by which rank 1 leaves after its step 40" in finding.fix
    assert (finding.severity, finding.where, finding.first_step) == ("error", place(33), 41)


def test_before_python_3_11_the_expression_is_not_known() -> None:
    (finding,) = found(dataclasses.replace(CRASH, frames=(dataclasses.replace(USERS, failing=""), TORCHS)))
    assert "lost it in a collective at train.py:33" in finding.message


def test_a_crash_elsewhere_is_its_own() -> None:
    assert found(dataclasses.replace(CRASH, frames=(USERS,))) == []


def test_a_rank_that_failed_or_ended_later_has_not_left() -> None:
    assert found(CRASH, dataclasses.replace(LEFT, exit_code=1)) == []
    assert found(CRASH, dataclasses.replace(LEFT, ended=13.0, steps=41)) == []
    assert found(CRASH, dataclasses.replace(LEFT, ended=30.0)) == []


def test_a_busy_machine_may_end_its_process_after_the_one_that_crashed() -> None:
    assert len(found(CRASH, dataclasses.replace(LEFT, ended=13.0))) == 1


def test_one_that_had_ended_when_it_was_asked_to_has_left() -> None:
    """mp.spawn does so when another rank has failed, and may find it still writing its log."""
    asked = dataclasses.replace(LEFT, exit_code=143, ended=13.0)
    assert len(found(CRASH, asked, EndFact("finished", 0, ""))) == 1
    assert found(CRASH, asked, EndFact("stopped", 0, "")) == []
    assert found(CRASH, asked) == []


def test_a_rank_that_went_further_or_never_trained_is_another_matter() -> None:
    assert found(CRASH, dataclasses.replace(LEFT, steps=90)) == []
    assert found(CRASH, dataclasses.replace(LEFT, steps=0)) == []


def test_one_that_ran_out_of_batches_is_told_elsewhere() -> None:
    told = hang(ENDED, rank=1, world=2, final=False, still_s=0.0, is_out_of_data=True)
    assert found(CRASH, LEFT, told) == []


def test_nor_is_the_end_of_an_epoch_a_reason_where_all_have_as_many_batches() -> None:
    told = hang(ENDED, rank=1, world=2, final=False, still_s=0.0, is_out_of_data=True)
    loader = LoaderFact("Share", 32, 20, 0, True, place(22), 1, number=1)
    facts = [RankFact(rank, rank, 2, "gloo", "here", 100 + rank) for rank in (0, 1)]
    ends = RankEnd(0, 1, 12.0, 40), LEFT
    records: dict[int, list[Record]] = {
        0: [facts[0], loader, CRASH, ends[0]],
        1: [facts[1], loader, told, ends[1]],
    }
    assert len(judged_ranks(records, NAME)) == 1
    records[0][1] = dataclasses.replace(loader, length=33)
    assert judged_ranks(records, NAME) == []
