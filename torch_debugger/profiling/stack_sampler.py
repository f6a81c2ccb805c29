"""Where a thread's Python is, asked again and again by another thread: a line's share of the answers is its
share of the time. Nothing is traced and nothing runs in the thread that is asked."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Collection
from types import CodeType, FrameType

from torch_debugger.clocks import time
from torch_debugger.profiling.stack_tree import Key, StackTree, path_of
from torch_debugger.signals import OwnThread

PERIOD_S = 0.02
LONGEST_PERIOD_S = 0.1
_COST_SHARE = (
    0.004  # of the time, for asking: a sample takes 30 to 130 us of a processor, 250 in some containers
)
# Of a processor, before that share counts: short runs are told of as well.
_ALLOWANCE_S = 0.05


class StackSampler:
    """`step` is asked with every sample: the step under way, or None while nothing should be counted. What was
    seen counts when its step is over: what comes after the last one is no training."""

    def __init__(
        self, thread: int, step: Callable[[], int | None], own_work: Collection[CodeType] = frozenset()
    ) -> None:
        self.cpu_s = 0.0
        self.fault: Exception | None = None
        self.lock = threading.Lock()  # around the tree
        self.tree = StackTree()
        self.period_s = PERIOD_S
        self._asked = thread
        self._step = step
        self._own_work = frozenset(own_work)
        self._of_step = StackTree()  # bounded: a script may go on for hours after its last step
        self._last = -1
        self._ended = False
        self._thread = OwnThread(self._run, "torch-debugger stacks")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended = True
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        try:
            self._sample()
        except Exception as error:  # of a thread of ours: told by whoever started it
            self.fault = error

    def _sample(self) -> None:
        typical_s, last_s = 0.0, time.perf_counter()
        while not self._ended:
            time.sleep(self.period_s)  # a third of what waiting for an event costs
            since_s, last_s = time.perf_counter() - last_s, time.perf_counter()
            step = self._step()
            if step is None:
                continue
            self._take(step, since_s)
            before_s, self.cpu_s = self.cpu_s, time.thread_time()
            typical_s = 0.9 * typical_s + 0.1 * (self.cpu_s - before_s)
            if self.cpu_s > _ALLOWANCE_S:
                self.period_s = min(max(PERIOD_S, typical_s / _COST_SHARE), LONGEST_PERIOD_S)

    def _take(self, step: int, since_s: float = 0.0) -> None:
        """Without a collection of garbage meanwhile: what it frees of the user's would be freed by this thread.
        The training cannot run in between, for it would have to wait for Python's lock far longer."""
        collects = gc.isenabled()
        gc.disable()
        try:
            self._add(step, since_s)
        finally:
            if collects:
                gc.enable()

    def _add(self, step: int, since_s: float) -> None:
        if step != self._last:
            with self.lock:
                self.tree.merge(self._of_step)
            self._of_step, self._last = StackTree(), step
        found = self._path(sys._current_frames().get(self._asked))
        if found is not None:
            # A call that keeps Python's lock is seen once, when it lets go, however long it took.
            self._of_step.add(found, max(1, round(since_s / self.period_s)))

    def _path(self, frame: FrameType | None) -> list[Key] | None:
        return path_of(frame, self._own_work)
