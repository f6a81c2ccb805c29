"""How long the training waits for each DataLoader, and how busy those are that load. Told now and then."""

from __future__ import annotations

import statistics
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch

from torch_debugger.model.hooks import WeakKeysById
from torch_debugger.model.nested_tensors import named_leaves
from torch_debugger.probes.watch import Watch
from torch_debugger.records import LineCost, LoadingLines, LoadingTime
from torch_debugger.source.files import is_user_file, place_at
from torch_debugger.stats.resources import CoreUse, of_this_thread, of_workers
from torch_debugger.system.clocks import time
from torch_debugger.system.signals import is_the_scripts

# Times the user's lines while something runs, by a trace function that is on for that long.
#
# Stacks sampled from another thread are not enough here: a call that keeps Python's lock to itself, such as
# `np.array(a_list)`, is never seen at work, and its time is found at the next line that lets go of it.
_Line = tuple[CodeType, int]
_MOST_LINES = 24
_Trace = Callable[[FrameType, str, Any], Any]


@dataclass
class Spent:
    seconds: float = 0.0  # in the line and in all that it called
    depth: int = 0  # of lines of the user's around it, when first met


class LineClock:
    ENOUGH_S = 0.005  # that one look costs; a sample that was begun is seen to its end
    TOO_MUCH_S = 0.02

    def __init__(self) -> None:
        self.lines: dict[_Line, Spent] = {}
        self.seconds = 0.0  # looked at, without the looking
        self.own_s = 0.0  # that the looking itself took
        self.looks = 0
        self.fault: Exception | None = None  # of ours: an exception of a trace function would be the user's
        self._stack: list[_Line | None] = []
        self._last = self._began = self._before_s = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        self._stack, self._before_s = [], self.seconds
        self.looks += 1
        self._began = self._last = time.perf_counter()
        sys.settrace(self._called)
        try:
            yield
        finally:
            if sys.gettrace() == self._called:
                self._charge()
                sys.settrace(None)
            self.own_s += self._own_s()

    def _called(self, frame: FrameType, event: str, argument: Any) -> _Trace | None:
        try:
            return self._enter(frame)
        except Exception as error:
            if is_the_scripts(error):
                raise
            sys.settrace(None)
            self.fault = error
            return None

    def _goes_on(self, frame: FrameType, event: str, argument: Any) -> _Trace | None:
        try:
            return self._follow(frame, event)
        except Exception as error:
            if is_the_scripts(error):
                raise
            sys.settrace(None)
            self.fault = error
            return None

    def _enter(self, frame: FrameType) -> _Trace | None:
        if not is_user_file(frame.f_code.co_filename):
            return None  # its time is the line's that called it
        self._charge()
        if self._is_over():
            sys.settrace(None)
            return None
        self._stack.append(None)  # until its first line begins
        self._last = time.perf_counter()
        return self._goes_on

    def _follow(self, frame: FrameType, event: str) -> _Trace | None:
        if event == "exception" or not self._stack:
            return self._goes_on
        self._charge()
        if event == "return":
            self._stack.pop()
        else:
            self._stack[-1] = (frame.f_code, frame.f_lineno)
        if self._is_over():
            sys.settrace(None)
        self._last = time.perf_counter()
        return self._goes_on

    def _is_over(self) -> bool:
        own_s = self._own_s()
        return own_s > self.TOO_MUCH_S or (own_s > self.ENOUGH_S and not self._stack)

    def _own_s(self) -> float:
        """Of this look, what the looking took."""
        return max(0.0, self._last - self._began - (self.seconds - self._before_s))

    def _charge(self) -> None:
        """What has passed since the last event is the time of the lines that are under way."""
        now = time.perf_counter()
        took_s = now - self._last
        self.seconds += took_s
        for depth, line in enumerate(self._stack):
            if line is None or line in self._stack[:depth]:
                continue  # it calls itself
            spent = self.lines.get(line)
            if spent is None:
                spent = self.lines[line] = Spent(depth=depth)
            spent.seconds += took_s
        self._last = now


def costs_of(lines: dict[_Line, Spent]) -> tuple[LineCost, ...]:
    """The dearest, from the outermost inwards."""
    dearest = sorted(lines.items(), key=lambda item: -item[1].seconds)[:_MOST_LINES]
    dearest.sort(key=lambda item: item[1].depth)
    return tuple(
        LineCost(place_at(code.co_filename, line), code.co_name, spent.seconds, spent.depth)
        for (code, line), spent in dearest
    )


_KEPT = 1000  # waits and passes of which a loader's typical ones are told
_SLOWEST = 0.05  # of the waits: a stall now and then is not what a batch costs
_NOTHING = CoreUse(0.0, 0.0, 0)


@dataclass
class _Clocks:
    """Of this process, without what watching takes, and of the thread that trains."""

    wall_s: float
    cpu_s: float
    thread: CoreUse | None


@dataclass
class _Loading:
    number: int
    taken: int = 0  # batches to train on, all of them
    batches: int = 0  # those that count
    waits: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=_KEPT))
    began: _Clocks | None = None
    used: dict[int, CoreUse] = field(default_factory=dict)  # by process
    used_before: CoreUse = _NOTHING
    passes: int = -1
    first_pass: float = 0.0
    last_pass: float = 0.0
    openings: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT))
    closings: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT))
    opening_s: float = 0.0  # iter() of the pass that has delivered nothing yet
    on_device: bool = False
    lines: LineClock = field(default_factory=LineClock)
    look_at: int = 4  # batches
    told_at: float = 0.0


class LoadingTimes:
    APART_S = 0.5
    LEFT_OUT = 4  # of a loader's first batches: files and caches are cold, and the first steps are looked at
    LOADERS = 16
    LOOKS = 24  # at the lines of a loader without workers, each at a batch
    FIRST_LOOKS = 3  # whatever they cost: at most some hundredths of a second
    LOOK_SHARE = 0.01  # of the waits, for the others
    LEAST_S = 0.002  # that its batches take; faster ones have no slow line

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._of_iterator: MutableMapping[Any, _Loading] = WeakKeysById()
        self._of_number: dict[int, _Loading] = {}
        self._current: weakref.ref[Any] | None = None  # the iterator that was asked last

    def begin_pass(self, number: int, iterator: Any, took_s: float) -> None:
        if number > self.LOADERS:
            return
        loading = self._of_number.setdefault(number, _Loading(number))
        self._of_iterator[iterator] = loading
        now = time.perf_counter()
        loading.passes += 1
        loading.first_pass = loading.first_pass or now
        loading.last_pass, loading.opening_s = now, took_s

    def clock_for(self, iterator: Any) -> LineClock | None:
        """For a closer look at the batch that is asked for: ever more rarely."""
        loading = self._of_iterator.get(iterator)
        if loading is None or loading.batches < loading.look_at or iterator._num_workers or not loading.waits:
            return None
        clock = loading.lines
        if clock.fault is not None:
            raise clock.fault  # to the guard, who tells it
        loading.look_at = loading.batches + max(3, loading.batches // 4)
        slow = min(list(loading.waits)[-4:])[0] >= self.LEAST_S
        # Python 3.10 leaves the variables of a frame that was traced with it, and so keeps them alive.
        traceable = sys.gettrace() is None and sys.version_info >= (3, 11)
        if clock.looks >= self.LOOKS or not slow or not traceable:
            return None
        affordable_s = self.LOOK_SHARE * sum(wall_s for wall_s, _ in loading.waits)
        return clock if clock.looks < self.FIRST_LOOKS or clock.own_s <= affordable_s else None

    def delivered(self, iterator: Any, batch: Any, waited: tuple[float, float] | None) -> None:
        """`waited` are wall and CPU seconds; None where a clock ran meanwhile."""
        loading = self._of_iterator.get(iterator)
        if loading is None:
            return
        if iterator._num_yielded == 1 and iterator._num_workers and waited is not None:
            loading.openings.append(loading.opening_s + waited[0])
            waited = (0.0, 0.0)  # for the start of workers, told apart
        if not torch.is_grad_enabled():
            return
        loading.taken += 1
        if loading.began is None:
            if loading.taken > self.LEFT_OUT:
                loading.began = self._clocks()
                loading.used |= of_workers(iterator)
                loading.used_before = _sum(loading.used)
                loading.on_device = any(tensor.is_cuda for _, tensor in named_leaves(batch))
            return
        loading.batches += 1
        if waited is not None:
            loading.waits.append(waited)
        self._current = weakref.ref(iterator)

    def closing(self, iterator: Any) -> None:
        """Its workers are about to end."""
        loading = self._of_iterator.get(iterator)
        if loading is not None:
            loading.used |= of_workers(iterator)

    def closed(self, iterator: Any, took_s: float) -> None:
        loading = self._of_iterator.pop(iterator, None)
        if loading is not None:  # the first time: an iterator that goes is closed again
            loading.closings.append(took_s)

    def end_step(self) -> None:
        """Of the loader that this step took its batch from."""
        iterator = self._current() if self._current is not None else None
        loading = self._of_iterator.get(iterator) if iterator is not None else None
        if loading is None or loading.began is None:
            return
        now = time.perf_counter()
        if now - loading.told_at < self.APART_S or not loading.waits:
            return
        loading.told_at = now
        loading.used |= of_workers(iterator)
        self._tell(loading, loading.began, self._clocks())
        if loading.lines.looks:
            clock = loading.lines
            costs = (clock.looks, clock.seconds, costs_of(clock.lines))
            self.watch.emit(LoadingLines(loading.number, self.watch.step, *costs))
        for other in self._of_number.values():  # of validation: only its passes count
            if other.began is None and other.passes > 0:
                nothing = _Clocks(0.0, 0.0, None)
                self._tell(other, nothing, nothing)

    def _clocks(self) -> _Clocks:
        ours_s = self.watch.governor.spent_s + self.watch.guard.spent_s
        return _Clocks(time.perf_counter() - ours_s, time.process_time() - ours_s, of_this_thread())

    def _tell(self, loading: _Loading, began: _Clocks, now: _Clocks) -> None:
        wait_s, wait_cpu_s = typical(loading.waits)
        used, before = _sum(loading.used), loading.used_before
        stretch, first, last = 1.0, began.thread, now.thread
        if first is not None and last is not None and last.cpu_s > first.cpu_s:
            stretch = 1.0 + (last.queued_s - first.queued_s) / (last.cpu_s - first.cpu_s)
        self.watch.emit(
            LoadingTime(
                loader=loading.number,
                step=self.watch.step,
                batches=loading.batches,
                elapsed_s=now.wall_s - began.wall_s,
                wait_s=wait_s,
                wait_cpu_s=wait_cpu_s,
                cpu_s=max(0.0, now.cpu_s - began.cpu_s),
                stretch=stretch,
                workers_cpu_s=used.cpu_s - before.cpu_s if loading.used else None,
                workers_queued_s=used.queued_s - before.queued_s,
                worker_threads=used.threads,
                passes=max(0, loading.passes),
                passes_s=loading.last_pass - loading.first_pass,
                opening_s=statistics.median(loading.openings) if loading.openings else 0.0,
                closing_s=statistics.median(loading.closings) if loading.closings else 0.0,
                on_device=loading.on_device,
            )
        )


def typical(waits: deque[tuple[float, float]]) -> tuple[float, float]:
    """The mean of (wall, CPU) seconds without the slowest few; where workers load, waits come in bursts, and a
    median would miss them."""
    ordered = sorted(waits)
    kept = ordered[: max(1, int(len(ordered) * (1 - _SLOWEST)))]
    if not ordered:
        return 0.0, 0.0
    return sum(wall for wall, _ in kept) / len(kept), sum(cpu for _, cpu in kept) / len(kept)


def _sum(used: dict[int, CoreUse]) -> CoreUse:
    """Of all processes, those that have ended too; of threads, the most that one had."""
    uses = used.values()
    threads = max((use.threads for use in uses), default=0)
    return CoreUse(sum(use.cpu_s for use in uses), sum(use.queued_s for use in uses), threads)
