"""Who may be at work on what the training waits for: the user at a prompt, a worker of a loader, another
thread, a process that the script has started."""

from __future__ import annotations

import os

from torch_debugger.ranks.hangs.children import child_is_at_work
from torch_debugger.ranks.hangs.evidence import Evidence, Views
from torch_debugger.ranks.hangs.sightings import Sighting, descendants_cpu_s
from torch_debugger.ranks.hangs.waits import DEBUGGER, Wait
from torch_debugger.records.hangs import (
    CALL,
    CHILDREN,
    EVENT,
    EXIT,
    INPUT,
    LOADER,
    LOCK,
    PROCESS,
    READ,
    SLEEP,
)  # fmt: skip

# Somebody else in this process, or started by it, may be at work for these.
_OTHERS_MAY_WORK = {LOCK, EVENT, EXIT, CALL, PROCESS}
_BUSY_SHARE = 0.05


class AtWork:
    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self.workers: Views = (0.0, {})
        self._started_s = 0.0  # of processes that the training has started, when it began to stand

    def note(self) -> None:
        """How much they have computed so far; milliseconds, so only once, when the training begins to stand."""
        self._started_s = descendants_cpu_s()
        self.workers = self._evidence.view_workers()

    def is_meant(self, wait: Wait) -> bool:
        """The script waits because it wants to."""
        return wait.kind in (SLEEP, CHILDREN) or (wait.kind == INPUT and self._is_a_person(wait))

    def makes_the_batch(self, wait: Wait) -> bool:
        return wait.kind == LOADER and self._evidence.awaited_worker_computes(self.workers)

    @staticmethod
    def serves(now: Sighting, wait: Wait) -> bool:
        """A program that is waited for may sleep until it has something to do; one that sends data would send
        it."""
        by_sleeping = wait.kind == PROCESS
        return wait.kind in (PROCESS, READ) and child_is_at_work(now.view, by_sleeping=by_sleeping)

    def may_end(self, wait: Wait, first: Sighting, now: Sighting, still_s: float) -> bool:
        """Whether others have computed since the training stood first, and so may end its wait."""
        if wait.kind not in _OTHERS_MAY_WORK:
            return False
        started_s = descendants_cpu_s() - self._started_s
        return now.others_computed(first) or started_s > _BUSY_SHARE * max(still_s, 1e-3)

    def _is_a_person(self, wait: Wait) -> bool:
        """At a prompt; where several ranks run, nobody can answer but at a terminal."""
        return wait.doing == DEBUGGER or self._evidence.world() == 1 or os.isatty(0)
