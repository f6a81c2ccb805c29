"""The thread that watches whether the training goes on.

As long as there are signs of life (steps, backward passes, calls of models) it compares a few numbers once a
second and does nothing else. Only when they stay away does it look at the training's stack, and what it asks is
whether the thread computes at all: a long validation, a compiler and a checkpoint compute or write, a hang
waits. Time in which this thread did not run either (the machine slept, the job was stopped) is nobody's hang.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
from collections.abc import Callable, Container

from torch_debugger.ranks.hang_evidence import Evidence, Sighting, Situation, Thread, Views, descendants_cpu_s
from torch_debugger.ranks.hang_waits import DEBUGGER, Wait
from torch_debugger.ranks.process_activity import Pace, child_is_at_work
from torch_debugger.records import HangFact, HangOver
from torch_debugger.records.ranks import CALL, CHILDREN, EVENT, EXIT, INPUT, LOADER, LOCK, LOOP, PROCESS, READ, SLEEP
from torch_debugger.system.clocks import time
from torch_debugger.system.signals import OwnThread

TICK_S = 1.0
_MOST_TICKS_LATE = 3.0
_TICKS_BEFORE_A_LOOK = 2
_WARN_SHARE = 0.6  # of the time that is given
# Somebody who sits in front of it gives up sooner: what was seen of the wait until then is kept for that.
_PATIENCE_S, _PATIENCE_SHARE = 5.0, 0.125  # at most; of the time that is given


class HangDetector:
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
        self._evidence, self._at_work = evidence, AtWork(evidence)
        self._report = tell
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
        self._reported_s: float | None = None
        self._has_warned = False
        self._seen: HangFact | None = None  # of a wait that may become a hang
        self._left: HangFact | None = None  # the same of one that is over, since there was no sign of life
        self._ended = threading.Event()
        self._thread = OwnThread(self._run, "torch-debugger watchdog")

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
        reported_s, still_s = self._reported_s, self._still_s
        self._fetched()
        self._first = self._last = self._reported_s = self._seen = self._left = None
        self._has_warned = False
        self._still_s = 0.0
        if reported_s is not None:
            rank, step = self._evidence.rank_and_step()
            self._report(HangOver(rank, step, still_s))

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
                self._at_work.note()
            self._still_s += passed_s
        elif self._reported_s is None or now.fetch == (0, 0):
            left = self._with_length(self._seen) or self._left  # by Ctrl-C, perhaps
            if self._reported_s is not None:
                self._goes_on()
            self._left = left
            self._first, self._last, self._still_s = now, now, 0.0
            self._has_warned, self._seen = False, None
        # told again, ever more rarely: by then more may be known of the others
        is_due = self._reported_s is None or max(self._still_s, self._fetch_s) >= 2 * self._reported_s
        if is_due and self._hangs(now, wait):
            self._reported_s = max(self._still_s, self._fetch_s)
            self._seen = self._report_and_ask(wait, final=True)
        elif not self._has_warned and self._still_s >= _WARN_SHARE * self.pace.allowed_s(wait.kind):
            self._has_warned = True
            if self._evidence.world() > 1:  # all ranks tell what they do, so that it is known when one is sure
                self._report_and_ask(wait, final=False)
        # again when it stands twice as long: then more may be known
        before_s = self._seen.still_s if self._seen is not None else 0.0
        patience_s = min(_PATIENCE_S, _PATIENCE_SHARE * self.pace.allowed_s(wait.kind))
        least_s = max(patience_s, 3 * self.pace.slowest_s, 2 * before_s)
        if self._reported_s is None and self._still_s >= least_s and self._waits_in_vain(now, wait):
            self._seen = self._gather(wait, final=False)

    def interrupted(self, lines: Container[tuple[str | None, int | None]]) -> HangFact | None:
        """By the user, at these lines of files: what the training waited for there, if it stood so long that it
        was a hang to them. It was given that long, then, and nothing is to be ended any more."""
        for seen in (self._with_length(self._seen), self._left):
            if seen is not None and (seen.place.file, seen.place.line) in lines:
                policy = "dump" if seen.policy == "abort" else seen.policy
                expected_s = min(seen.expected_s, seen.still_s)
                return dataclasses.replace(seen, final=True, expected_s=expected_s, policy=policy)
        return None

    def _with_length(self, seen: HangFact | None) -> HangFact | None:
        return dataclasses.replace(seen, still_s=max(seen.still_s, self._still_s)) if seen is not None else None

    def _fetched(self) -> None:
        self.pace.fetched(self._fetch_s, is_first=self._is_first_batch)
        self._fetch_s = 0.0

    def _hangs(self, now: Sighting, wait: Wait) -> bool:
        limits, at_work = self.pace.limits, self._at_work
        if at_work.is_meant(wait):
            return False
        if _waits_for_a_disk(now) and self._still_s < limits.ceiling_s:
            return False  # one that never answers is told later
        loop_s = self.pace.allowed_s(LOOP, is_first=self._is_first_batch)  # so long may whoever makes a batch compute
        if self._still_s < self.pace.allowed_s(wait.kind):
            return wait.kind != LOADER and self._fetch_s >= loop_s
        if self._still_s < limits.ceiling_s and at_work.serves(now, wait):
            return False
        if at_work.makes_the_batch(wait):
            return self._still_s >= loop_s
        return not self._others_may_end_it(now, wait)

    def _waits_in_vain(self, now: Sighting, wait: Wait) -> bool:
        """However long: nobody is seen to work on what the training waits for. Who has written a pause into the
        training does not end it by Ctrl-C, unless it takes longer than they thought."""
        at_work = self._at_work
        if wait.kind == SLEEP:
            return self._evidence.loop.holds(self._watched.frame())
        if at_work.is_meant(wait) or _waits_for_a_disk(now) or at_work.serves(now, wait):
            return False
        return not at_work.makes_the_batch(wait) and not self._others_may_end_it(now, wait)

    def _others_may_end_it(self, now: Sighting, wait: Wait) -> bool:
        assert self._first is not None
        return self._at_work.may_end(wait, self._first, now, self._still_s)

    def _report_and_ask(self, wait: Wait, *, final: bool) -> HangFact:
        """And ask the others."""
        if self._evidence.world() > 1:
            self._asking.ask()
        fact = self._gather(wait, final=final)
        self._report(fact)
        return fact

    def _gather(self, wait: Wait, *, final: bool) -> HangFact:
        loops = final and wait.kind != LOADER and self._still_s < self.pace.allowed_s(wait.kind)
        kind = LOOP if loops else wait.kind
        situation = Situation(
            still_s=max(self._still_s, self._fetch_s) if final else self._still_s,
            allowed_s=self.pace.allowed_s(kind),
            slowest_s=self.pace.slowest_s,
            final=final,
            kind=kind,
            workers_before=self._at_work.workers,
        )
        return self._evidence.gather(self._watched, situation)

    def _answer(self) -> None:
        """Another rank stands still, and wants to know what this one does."""
        _, wait = self._watched.look()
        self._report(self._gather(wait, final=self._reported_s is not None))


def _waits_for_a_disk(now: Sighting) -> bool:
    return now.view is not None and now.view.state == "D"


# Somebody else in this process, or started by it, may be at work for these.
_OTHERS_MAY_WORK = {LOCK, EVENT, EXIT, CALL, PROCESS}
_BUSY_SHARE = 0.05


class AtWork:
    """Who may be at work on what the training waits for: the user at a prompt, a worker of a loader, another thread,
    a process that the script has started."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self.workers: Views = (0.0, {})
        self._started_s = 0.0  # of processes that the training has started, when it began to stand

    def note(self) -> None:
        """How much they have computed so far; milliseconds, so only once, when the training begins to stand."""
        self._started_s = descendants_cpu_s()
        self.workers = self._evidence.view_workers()

    def is_meant(self, wait: Wait) -> bool:
        """The script waits because it wants to, or for a person; where several ranks run, only at a terminal."""
        if wait.kind != INPUT:
            return wait.kind in (SLEEP, CHILDREN)
        return wait.doing == DEBUGGER or self._evidence.world() == 1 or os.isatty(0)

    def makes_the_batch(self, wait: Wait) -> bool:
        return wait.kind == LOADER and self._evidence.awaited_worker_computes(self.workers)

    @staticmethod
    def serves(now: Sighting, wait: Wait) -> bool:
        """A program that is waited for may sleep until it has something to do; one that sends data would send
        it."""
        return wait.kind in (PROCESS, READ) and child_is_at_work(now.view, by_sleeping=wait.kind == PROCESS)

    def may_end(self, wait: Wait, first: Sighting, now: Sighting, still_s: float) -> bool:
        """Whether others have computed since the training stood first, and so may end its wait."""
        if wait.kind not in _OTHERS_MAY_WORK:
            return False
        started_s = descendants_cpu_s() - self._started_s
        return now.others_computed(first) or started_s > _BUSY_SHARE * max(still_s, 1e-3)


# How ranks ask each other what they are doing, without a message on the training's way: by a file in the folder that
# all of them log to. Who stands still touches it; the others look, once a second, whether it was touched.
HANG_QUERY_FILE = "hang-asked"


class Asking:
    """Without a folder nobody asks and nobody is asked."""

    def __init__(self, folder: str | None) -> None:
        self._path = os.path.join(folder, HANG_QUERY_FILE) if folder else ""
        self._seen = self._touched()

    def ask(self) -> None:
        if self._path:
            # A full disk: the others will be sure by themselves, a little later.
            with contextlib.suppress(OSError), open(self._path, "a", encoding="ascii"):
                os.utime(self._path)
            self._seen = self._touched()

    def is_asked(self) -> bool:
        """Once for every time that another rank asked."""
        before, self._seen = self._seen, self._touched()
        return self._seen not in (before, 0)

    def tidy_up(self) -> None:
        if self._path:
            with contextlib.suppress(OSError):
                os.remove(self._path)

    def _touched(self) -> int:
        try:
            return os.stat(self._path).st_mtime_ns if self._path else 0
        except OSError:
            return 0
