"""The thread that watches whether the training goes on.

As long as there are signs of life (steps, backward passes, calls of models) it compares a few numbers once a
second and does nothing else. Only when they stay away does it look at the training's stack, and what it asks is
whether the thread computes at all: a long validation, a compiler and a checkpoint compute or write, a hang
waits. Time in which this thread did not run either (the machine slept, the job was stopped) is nobody's hang.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from torch_debugger.ranks.hangs.asking import Asking
from torch_debugger.ranks.hangs.children import child_is_at_work
from torch_debugger.ranks.hangs.evidence import Evidence, Situation
from torch_debugger.ranks.hangs.kernel_view import KernelView
from torch_debugger.ranks.hangs.pace import Pace
from torch_debugger.ranks.hangs.sightings import Sighting, Thread, descendants_cpu_s
from torch_debugger.ranks.hangs.waits import DEBUGGER, Wait
from torch_debugger.records import HangFact, HangOver
from torch_debugger.records.hangs import (
    CALL,
    CHILDREN,
    EVENT,
    EXIT,
    INPUT,
    LOADER,
    LOCK,
    LOOP,
    PROCESS,
    READ,
    SLEEP,
)  # fmt: skip

TICK_S = 1.0
_MOST_TICKS_LATE = 3.0
_TICKS_BEFORE_A_LOOK = 2
# Somebody else in this process, or started by it, may be at work for these.
_OTHERS_MAY_WORK = {LOCK, EVENT, EXIT, CALL, PROCESS}
_BUSY_SHARE = 0.05
_WARN_SHARE = 0.6  # of the time that is given


class Vigil:
    """`signs` counts signs of life; `tell` is called from this thread."""

    def __init__(
        self,
        thread: Thread,
        pace: Pace,
        signs: Callable[[], tuple[int, ...]],
        evidence: Evidence,
        tell: Callable[[HangFact | HangOver], None],
        asking: Asking,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        self.fault: Exception | None = None
        self.cpu_s = 0.0
        self._watched = thread
        self.pace = pace
        self._signs = signs
        self._evidence = evidence
        self._tell = tell
        self._asking, self._beat = asking, beat
        timeout_s = pace.limits.timeout_s or pace.limits.floor_s
        self._tick_s = min(TICK_S, max(timeout_s / 10, 0.05))
        self._last_signs: tuple[int, ...] = ()
        self._quiet_s = 0.0  # since the last sign of life
        self._still_s = 0.0  # of that, standing at one line
        self._fetch_s = 0.0  # of that, in one and the same batch of a loader
        self._is_first_batch = False  # of its pass
        self._first: Sighting | None = None  # when it began to stand
        self._last: Sighting | None = None
        self._workers: tuple[float, dict[int, KernelView | None]] = (0.0, {})
        self._started_s = 0.0  # of processes that the training has started, when it began to stand
        self._told: float | None = None
        self._has_warned = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="torch-debugger watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """What went on since the last look is still told; a script that was stopped while it stood hung to its
        end."""
        self._ended.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=1.0)
        if self._signs() != self._last_signs:
            self._goes_on()

    def _run(self) -> None:
        try:
            last_s = time.monotonic()
            while not self._ended.wait(self._tick_s):
                now_s = time.monotonic()
                self.tick(min(now_s - last_s, _MOST_TICKS_LATE * self._tick_s))
                last_s = now_s
                self.cpu_s = time.thread_time()
        except Exception as error:  # of a thread of ours: told by whoever started it
            self.fault = error

    def tick(self, passed_s: float) -> None:
        self._beat()
        signs = self._signs()
        if signs != self._last_signs:
            self._last_signs = signs
            self.pace.went_on(self._quiet_s, signs[0])
            self._quiet_s = 0.0
            self._goes_on()
        else:
            self._quiet_s += passed_s
            if self._quiet_s > _TICKS_BEFORE_A_LOOK * self._tick_s:
                self._look(passed_s)
        if self._asking.is_asked():
            self._answer()

    def _goes_on(self) -> None:
        told, still_s = self._told, self._still_s
        self._fetched()
        self._first = self._last = self._told = None
        self._has_warned = False
        self._still_s = 0.0
        if told is not None:
            rank, step = self._evidence.rank_and_step()
            self._tell(HangOver(rank, step, still_s))

    def _look(self, passed_s: float) -> None:
        now, wait = self._watched.look()
        before, self._last = self._last, now
        if before and now.fetch == before.fetch != (0, 0):
            self._fetch_s += passed_s
        else:
            self._fetched()
            self._is_first_batch = now.fetch[1] == 0
        if before is not None and now.stands_since(before):
            if not self._still_s:
                self._note_others()
            self._still_s += passed_s
        elif self._told is None or now.fetch == (0, 0):
            self._begin_again(now)
        if self._is_due() and self._hangs(now, wait):
            self._told = max(self._still_s, self._fetch_s)
            self._tell_all(wait, final=True)
        elif not self._has_warned and self._still_s >= _WARN_SHARE * self.pace.allowed_s(wait.kind):
            self._has_warned = True
            if self._evidence.world() > 1:  # all ranks tell what they do, so that it is known when one is sure
                self._tell_all(wait, final=False)

    def _fetched(self) -> None:
        self.pace.fetched(self._fetch_s, is_first=self._is_first_batch)
        self._fetch_s = 0.0

    def _loop_s(self) -> float:
        """How long whoever makes the batch under way may compute."""
        return self.pace.allowed_s(LOOP, is_first=self._is_first_batch)

    def _is_due(self) -> bool:
        """Told again, ever more rarely: by then more may be known of the others."""
        return self._told is None or max(self._still_s, self._fetch_s) >= 2 * self._told

    def _begin_again(self, now: Sighting) -> None:
        if self._told is not None:
            self._goes_on()
        self._first, self._last, self._still_s = now, now, 0.0
        self._has_warned = False

    def _note_others(self) -> None:
        """How much those have computed who may be at work for the training; milliseconds, so only once."""
        self._started_s = descendants_cpu_s()
        self._workers = self._evidence.view_workers()

    def _hangs(self, now: Sighting, wait: Wait) -> bool:
        assert self._first is not None
        if wait.kind in (SLEEP, CHILDREN) or (wait.kind == INPUT and self._is_a_person(wait)):
            return False
        if now.view is not None and now.view.state == "D" and self._still_s < self.pace.limits.ceiling_s:
            return False  # a disk that is slow; one that never answers is told later
        if self._still_s < self.pace.allowed_s(wait.kind):
            return wait.kind != LOADER and self._fetch_s >= self._loop_s()
        if self._still_s < self.pace.limits.ceiling_s and self._is_served(now, wait):
            return False
        if wait.kind == LOADER and self._evidence.awaited_worker_computes(self._workers):
            return self._still_s >= self._loop_s()
        return wait.kind not in _OTHERS_MAY_WORK or not self._others_work(now)

    @staticmethod
    def _is_served(now: Sighting, wait: Wait) -> bool:
        """A program that is waited for may sleep until it has something to do; one that sends data would send
        it."""
        by_sleeping = wait.kind == PROCESS
        return wait.kind in (PROCESS, READ) and child_is_at_work(now.view, by_sleeping=by_sleeping)

    def _is_a_person(self, wait: Wait) -> bool:
        """At a prompt; where several ranks run, nobody can answer but at a terminal."""
        return wait.doing == DEBUGGER or self._evidence.world() == 1 or os.isatty(0)

    def _others_work(self, now: Sighting) -> bool:
        assert self._first is not None
        started_s = descendants_cpu_s() - self._started_s
        return now.others_computed(self._first) or started_s > _BUSY_SHARE * max(self._still_s, 1e-3)

    def _tell_all(self, wait: Wait, *, final: bool) -> None:
        """And ask the others."""
        if self._evidence.world() > 1:
            self._asking.ask()
        self._tell(self._gather(wait, final=final))

    def _gather(self, wait: Wait, *, final: bool) -> HangFact:
        loops = final and wait.kind != LOADER and self._still_s < self.pace.allowed_s(wait.kind)
        kind = LOOP if loops else wait.kind
        situation = Situation(
            still_s=max(self._still_s, self._fetch_s) if final else self._still_s,
            allowed_s=self.pace.allowed_s(kind),
            slowest_s=self.pace.slowest_s,
            final=final,
            kind=kind,
            workers_before=self._workers,
        )
        return self._evidence.gather(self._watched, situation)

    def _answer(self) -> None:
        """Another rank stands still, and wants to know what this one does."""
        _, wait = self._watched.look()
        self._tell(self._gather(wait, final=self._told is not None))
