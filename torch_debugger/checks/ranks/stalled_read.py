"""A file, pipe or socket is read from which nothing comes."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.hang_check import HangCheck
from torch_debugger.checks.hang_scene import Scene, patience, seconds, spot, subject
from torch_debugger.checks.hang_workers import awaited, worker_row
from torch_debugger.records import Finding, HangFact, Standing
from torch_debugger.records.hangs import LOADER, READ

_KINDS = {"pipe:": "a pipe", "socket:": "a network connection"}


class StalledRead(HangCheck):
    """The training, or a worker of its loader, waits for data of a file, pipe or socket, and nothing comes.

    Symptom: the training stands still, the processor is idle; there is no timeout.

    Evidence: the thread has been in one and the same system call for reading (or opening, or locking) a file
    for longer than it ever took to go on. The kernel names the call and the file.

    Fix: look at who should write. Give network requests and sockets a timeout; a named pipe without a writer
    waits already in `open`. For a file lock, look for the process that has it.

    Known limits: a disk that is very slow looks like one that hangs; where the kernel says that a disk is
    waited for, ten minutes are given. System calls are known on Linux only.
    """

    id = "TD824"
    name = "stalled-read"
    title = "A file, pipe or socket is waited for and nothing comes"

    def judge(self, scene: Scene) -> Iterable[Finding]:
        for rank, fact in scene.stuck((READ, LOADER)).items():
            reader = fact.stacks[0] if fact.kind == READ else awaited(fact)
            if reader is not None and (fact.kind == READ or reader.kind == READ):
                yield self._finding(rank, fact, reader, scene)

    def _finding(self, rank: int, fact: HangFact, reader: Standing, scene: Scene) -> Finding:
        line = reader.users_line or fact.place
        who = f"{reader.who}, which makes batch {fact.batches + 1:,}," if fact.kind == LOADER else "it"
        return self.finding(
            severity="error",
            confidence=0.9,
            message=f"{subject(rank, scene)} has stood still for {seconds(fact.still_s)} at step "
            f"{fact.step:,}: {who} {_waits(reader)} at {spot(line)}.{scene.others({rank})}",
            why=f"The kernel shows it in {reader.wait or 'a read'}{_of(reader)}, and nothing has come. "
            f"{patience(fact)}",
            fix="Find out who should write there, and whether that program still runs. Give the read a "
            "timeout (requests.get(..., timeout=30), socket.settimeout, select), so that silence "
            "becomes an error.",
            where=line,
            first_step=fact.step,
            last_step=fact.step,
            evidence={
                "stood still": seconds(fact.still_s), "system call": reader.wait, "reads": reader.target,
                **worker_row(fact), **scene.rows(),
            },
        )  # fmt: skip


def _of(reader: Standing) -> str:
    return f" of {_named(reader.target)}" if reader.target else ""


def _named(target: str) -> str:
    return next((words for start, words in _KINDS.items() if target.startswith(start)), target)


def _waits(reader: Standing) -> str:
    if reader.wait in ("flock", "fcntl"):
        return f"waits for a lock on {_named(reader.target) or 'a file'}"
    if reader.wait in ("open", "openat"):
        return "waits for a file to open, as a named pipe without a writer does"
    return f"waits for data of {_named(reader.target) or 'a file or connection'}"
