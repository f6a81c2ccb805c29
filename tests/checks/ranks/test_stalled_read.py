"""stalled-read: a file, pipe or socket from which nothing comes."""

from __future__ import annotations

import pytest

from tests.checks.ranks.hanging import alone, at_loader, hang, standing
from torch_debugger.records.ranks import LOCK, LOOP, READ

NAME = "stalled-read"


def test_the_words() -> None:
    reader = standing("training", 11, kind=READ, wait="read", target="/data/numbers")
    (finding,) = alone(NAME, hang(READ, 11, stacks=(reader,)))
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
    (finding,) = alone(NAME, at_loader(worker))
    assert "worker 0, which makes batch 16, " in finding.message and words in finding.message


@pytest.mark.parametrize("kind", [LOCK, LOOP])
def test_workers_that_do_something_else_are_not_its_business(kind: str) -> None:
    assert alone(NAME, at_loader(standing("worker 0", 37, kind=kind))) == []
