from __future__ import annotations

import pytest

from tests.checks.ranks.hanging import alone, among_ranks, at_loader, hang, standing, waiting
from tests.fakes import only
from torch_debugger.records import EndFact, GroupState, HangOver
from torch_debugger.records.ranks import CALL, EVENT, EXIT, INPUT, LOADER, LOCK, LOOP, PROCESS, READ, SLEEP

ENDLESS = "endless-sample"


def test_the_words_of_an_endless_sample() -> None:
    (finding,) = alone(ENDLESS, hang(LOOP, 18, batches=9))
    assert finding.message == (
        "The training has waited 41 s for batch 10: the dataset loops at train.py:18 and does not come back."
    )
    assert "attempts" in finding.fix and finding.where.line == 18


def test_a_batch_that_is_not_known_is_the_next() -> None:
    assert "for the next batch: the dataset" in only(alone(ENDLESS, hang(LOOP, 18))).message


@pytest.mark.parametrize(("kind", "does"), [(LOOP, "loops"), (SLEEP, "sleeps")])
def test_a_worker_is_named(kind: str, does: str) -> None:
    (finding,) = alone(ENDLESS, at_loader(standing("worker 0", 18, kind=kind)))
    assert f"for batch 16: worker 0 {does} at train.py:18" in finding.message


@pytest.mark.parametrize("kind", [LOCK, READ, ""])
def test_workers_that_wait_are_not_its_business(kind: str) -> None:
    assert alone(ENDLESS, at_loader(standing("worker 0", 18, kind=kind))) == []


LOCK_NEVER_RELEASED = "lock-never-released"


def test_the_words_of_a_lock() -> None:
    (finding,) = alone(LOCK_NEVER_RELEASED, hang(LOCK))
    assert finding.message == (
        "The training has stood still for 41 s at step 23: `lock.acquire()` at train.py:40 waits for a lock that is "
        "never released."
    )
    assert "no other thread of yours" in finding.why and "was 0.3 s" in finding.why
    assert "with lock:" in finding.fix
    assert (finding.severity, finding.where.line, finding.first_step) == ("error", 40, 23)


def test_other_threads_are_named() -> None:
    thread = standing("thread pump", 12)
    fact = hang(EVENT, call="ready.get()", stacks=(standing("training", 40), thread))
    (finding,) = alone(LOCK_NEVER_RELEASED, fact)
    assert "(pump at train.py:12)" in finding.why
    assert finding.evidence["thread pump"] == "at train.py:12"
    assert "timeout" in finding.fix


def test_ranks_that_wait_for_it_are_named() -> None:
    facts = waiting(0, "all_reduce", 37), hang(LOCK, 16, rank=1, world=2)
    (finding,) = among_ranks(LOCK_NEVER_RELEASED, *facts)
    assert finding.message.startswith("Rank 1 has stood still")
    assert finding.message.endswith("Rank 0 waits in `all_reduce` at train.py:37.")


@pytest.mark.parametrize("kind", [CALL, SLEEP])
def test_other_waits_are_not_its_business(kind: str) -> None:
    assert alone(LOCK_NEVER_RELEASED, hang(kind)) == []


def test_a_lock_is_told_when_it_is_sure_and_a_note_once_it_went_on() -> None:
    assert alone(LOCK_NEVER_RELEASED, hang(LOCK, final=False)) == [], "nothing is said before it is sure"
    # what went on is a note
    (finding,) = alone(LOCK_NEVER_RELEASED, hang(LOCK), HangOver(None, 24, 65.0))
    assert finding.severity == "note"
    assert finding.message.startswith("The training stood still for 65 s and then went on by itself.")


@pytest.mark.parametrize(("outcome", "severity"), [("finished", "note"), ("stopped", "error"), ("crashed", "error")])
def test_one_that_reached_its_end_did_not_hang(outcome: str, severity: str) -> None:
    assert only(alone(LOCK_NEVER_RELEASED, hang(LOCK), EndFact(outcome, 30, "steps"))).severity == severity


STALLED = "stalled-read"


def test_the_words_of_a_stalled_read() -> None:
    reader = standing("training", 11, kind=READ, wait="read", target="/data/numbers")
    (finding,) = alone(STALLED, hang(READ, 11, stacks=(reader,)))
    assert finding.message == (
        "The training has stood still for 41 s at step 23: it waits for data of /data/numbers at train.py:11."
    )
    assert "in read of /data/numbers" in finding.why and "timeout" in finding.fix
    assert finding.evidence["system call"] == "read"


@pytest.mark.parametrize(
    ("wait", "target", "words"),
    [
        ("recvfrom", "socket:[812]", "waits for data of a network connection"),
        ("read", "pipe:[12]", "waits for data of a pipe"),
        ("flock", "/data/lock", "waits for a lock on /data/lock"),
        ("openat", "", "waits for a file to open"),
    ],
)
def test_a_worker_and_what_it_reads(wait: str, target: str, words: str) -> None:
    worker = standing("worker 0", 37, kind=READ, wait=wait, target=target)
    (finding,) = alone(STALLED, at_loader(worker))
    assert "worker 0, which makes batch 16, " in finding.message and words in finding.message


@pytest.mark.parametrize("kind", [LOCK, LOOP])
def test_workers_that_do_something_else_are_not_its_business(kind: str) -> None:
    assert alone(STALLED, at_loader(standing("worker 0", 37, kind=kind))) == []


STILL = "training-stands-still"


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
def test_the_words_of_other_waits(kind: str, words: str) -> None:
    (finding,) = alone(STILL, hang(kind))
    assert finding.message == f"The training has stood still for 41 s at step 23: {words}"
    assert "stacks" in finding.fix


def test_where_another_check_knows_more_it_is_folded_under_that() -> None:
    from torch_debugger.checks.judge import Judge

    judge = Judge()
    judge.see(hang(LOCK))
    assert [finding.name for finding in judge.findings] == ["lock-never-released"]


def test_ranks_at_one_and_the_same_line() -> None:
    facts = [waiting(rank, "all_reduce", 37) for rank in range(2)]
    (finding,) = among_ranks(STILL, *facts)
    assert finding.message == ("All 2 ranks have stood still for 41 s: ranks 0-1 in `all_reduce` at train.py:37.")


def test_ranks_of_which_one_still_runs_are_not_called_stuck() -> None:
    running = hang(CALL, rank=0, world=2, final=False, still_s=0.0)
    assert among_ranks(STILL, running, waiting(1, "barrier", 37)) == [], "a rank that runs brings the others on"
    assert among_ranks(STILL, waiting(1, "barrier", 37)) == [], "a rank that has told nothing may run"


def test_with_nccl_it_says_what_helps_the_next_time() -> None:
    group = GroupState("0", "nccl", (0, 1), 12)
    facts = [waiting(rank, "all_reduce", 37, groups=(group,)) for rank in range(2)]
    (finding,) = among_ranks(STILL, *facts)
    assert (
        "TORCH_NCCL_ASYNC_ERROR_HANDLING (before torch 2.2: NCCL_ASYNC_ERROR_HANDLING" in finding.fix
        and "TORCH_FR_BUFFER_SIZE=2000" in finding.fix
    )
    recorded = [waiting(rank, "all_reduce", 37, groups=(group,), recorded=("all_reduce",)) for rank in range(2)]
    (finding,) = among_ranks(STILL, *recorded)
    assert "TORCH_FR_BUFFER_SIZE" not in finding.fix and finding.evidence["recorded 1"] == "all_reduce"


def test_it_is_the_rank_that_waits_for_something_else() -> None:
    at_prompt = hang(INPUT, 23, rank=0, world=2, stacks=(standing("training", 23),))
    (finding,) = among_ranks(STILL, at_prompt, waiting(1, "all_reduce", 37, still_s=60.0))
    assert finding.message.startswith("Rank 0 has stood still") and finding.where.line == 23


DEADLOCK = "worker-deadlocked"


def test_the_words_of_a_deadlocked_worker() -> None:
    worker = standing("worker 1", 9, kind=LOCK, code="with lock:")
    (finding,) = alone(DEADLOCK, at_loader(worker))
    assert finding.message == (
        "The training has waited 41 s for batch 16 of the loader at train.py:40: worker 1 waits for a lock in "
        "`with lock:` at train.py:9 and computes nothing."
    )
    assert finding.where.line == 9 and "worker_init_fn" in finding.fix
    assert finding.evidence["worker 1"] == "waits for a lock at train.py:9"


@pytest.mark.parametrize("kind", [LOOP, READ, ""])
def test_other_workers_are_not_its_business(kind: str) -> None:
    assert alone(DEADLOCK, at_loader(standing("worker 1", 9, kind=kind))) == []
