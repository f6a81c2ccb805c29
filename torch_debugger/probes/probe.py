"""What every probe is."""

from __future__ import annotations

import inspect
import math
import os
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from torch_debugger.probes.schedule import DEEP, LIGHT, NONE
from torch_debugger.stats.dispatch_modes import is_of_parts, unseen
from torch_debugger.stats.resources import of_this_thread
from torch_debugger.system.clocks import time
from torch_debugger.system.signals import is_raised_in_python, is_the_scripts, looking
from torch_debugger.system.tracebacks import hidden_in_tracebacks

if TYPE_CHECKING:
    from torch_debugger.probes.watch import Watch


class Probe:
    """Watches one part of the training. Subclasses override what they need."""

    name = "probe"
    deep_only = False  # its end_step has news after a deep step only
    after: tuple[str, ...] = ()  # probes whose hooks go on, and whose steps end, before its own

    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def install(self, patches: Patches) -> None:
        """Put hooks on; every replaced attribute goes through `patches`."""

    def begin_step(self, depth: int) -> None:
        """A step begins."""

    def end_step(self) -> None:
        """A step ends; its numbers are due."""

    def give_up(self) -> None:
        """A fault of this probe's: it is asked nothing any more; what still costs comes off."""

    def cut_short(self) -> None:
        """This step's look has taken too long: what it has seen is dropped, and it looks at nothing more."""
        self.begin_step(NONE)

    def step_aside(self) -> None:
        """Nothing more will be heard: what would take silence for an answer stops. Said by another thread."""

    def remove(self) -> None:
        """Take off what `patches` does not."""


# Attributes replaced while we watch, and put back afterwards.
_MISSING = object()


class Patches:
    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any, Any]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """owner.name = make(the original)"""
        own = vars(owner).get(name, _MISSING)
        replacement = make(getattr(owner, name))
        setattr(owner, name, replacement)
        self._undo.append((owner, name, own, replacement))

    def restore(self) -> None:
        for owner, name, own, replacement in reversed(self._undo):
            if vars(owner).get(name, _MISSING) is not replacement:
                continue  # somebody else patched over us; theirs keeps calling through ours
            if own is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, own)
        self._undo.clear()


def around_init(watch: Watch, name: str, met: Callable[[Any], None]) -> Callable[[Any], Any]:
    """For `Patches.replace`: the __init__ of a class of torch's, and the probe meets what it has made."""

    def around(original: Any) -> Any:
        def __init__(made: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
            with hidden_in_tracebacks:
                original(made, *arguments, **keywords)
            watch.probe(name, met, made)

        __init__.__wrapped__ = original  # type: ignore[attr-defined]
        __init__.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
        return __init__

    return around


# Every probe runs through here: timed, unseen by the user's modes, and taken off when it fails.
#
# No exception of ours reaches the training. A probe that raises is removed for the rest of the run, and a ProbeFault
# says so once.
_TORCH = os.path.dirname(torch.__file__) + os.sep
_LONGEST_LOOK_S = 10.0
_MOST_LEFT_OUT = 50  # looks of one probe; then it fails whatever it meets
CALL_S = 4e-7  # what a guarded call costs beyond the time it measures itself (measured: 0.3-0.5 us)


class Guard:
    def __init__(self, on_fault: Callable[[str, BaseException], None]) -> None:
        self.removed: set[str] = set()
        self.spent_s = 0.0  # since the step began, by calls that have ended
        self._limit_s = math.inf  # what may be spent in this step
        self._mark = _TimeMark(0.0, 0.0, 0.0)  # when that was last set or raised
        self._began_s = 0.0  # the call under way
        self._on_fault = on_fault
        self.is_aside = False  # no look begins any more
        self._running_in = 0  # a thread; a probe inside a probe is timed once
        self._left_out: Counter[str] = Counter()  # looks
        self._main = threading.main_thread().ident

    def call(self, probe: str, function: Callable[..., Any], *arguments: Any) -> Any:
        if probe in self.removed or self.is_aside:
            return None
        if self._running_in:
            return self.contain(probe, function, *arguments)
        thread, start = threading.get_ident(), time.perf_counter()
        try:
            self._running_in, self._began_s = thread, start
            if thread == self._main:
                looking.since_s = start
            return None if self.is_aside else unseen(function, *arguments)
        except BaseException as error:  # the promise: a failing probe never reaches the user's training
            if not self._is_a_fault(probe, error):
                raise
            return None
        finally:
            self._running_in = 0
            self.spent_s += time.perf_counter() - start + CALL_S
            if thread == self._main:
                looking.end()

    def is_over(self) -> bool:
        """Has this step's look, the call under way included, taken longer than it may?"""
        under_way_s = time.perf_counter() - self._began_s if self._running_in else 0.0
        spent_s = self.spent_s + under_way_s
        if spent_s > self._limit_s:  # what the machine was busy with meanwhile does not count
            before, self._mark = self._mark, _TimeMark.at(spent_s)
            self._limit_s += self._mark.queued_since(before)
        return spent_s > self._limit_s

    def allow(self, seconds: float) -> None:
        """So much from now on, in this step."""
        self._limit_s = self.spent_s + seconds
        if seconds != math.inf:
            self._mark = _TimeMark.at(self.spent_s)

    def contain(self, probe: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Untimed, and also for a probe that has failed: what it put on must still come off."""
        try:
            return function(*arguments)
        except BaseException as error:  # as above
            if not self._is_a_fault(probe, error):
                raise
            return None

    def _is_a_fault(self, probe: str, error: BaseException) -> bool:
        if is_the_scripts(error):
            return False
        if not is_of_parts(error) and not self._is_left_out(probe, error):
            self.remove(probe, error)
        return True

    def _is_left_out(self, probe: str, error: BaseException) -> bool:
        """A tensor of a kind that refuses what is asked of all (nested, fake, in vmap) costs one look."""
        if not isinstance(error, (RuntimeError, NotImplementedError)) or is_of_a_dead_device(error):
            return False
        files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
        if is_raised_in_python(error) and not (files and files[-1].startswith(_TORCH)):
            return False
        self._left_out[probe] += 1
        return self._left_out[probe] < _MOST_LEFT_OUT

    def is_looking(self) -> bool:
        return bool(self._running_in)

    def step_aside(self) -> None:
        """From another thread: no look begins any more, and none is under way when this returns."""
        self.is_aside = True
        deadline = time.monotonic() + _LONGEST_LOOK_S
        while self._running_in and time.monotonic() < deadline:
            time.sleep(0.0005)

    def remove(self, probe: str, error: BaseException) -> None:
        if probe not in self.removed:
            self.removed.add(probe)
            self._on_fault(probe, error)

    def take_spent(self) -> float:
        spent, self.spent_s = self.spent_s, 0.0
        return spent


def is_of_a_dead_device(error: BaseException) -> bool:
    """A kernel of the user's has failed: whoever asks the device next, here a probe, hears of it."""
    return isinstance(error, RuntimeError) and "CUDA error" in str(error)


class _TimeMark(NamedTuple):
    time_s: float
    spent_s: float
    queued_s: float  # by this thread: ready, while others had the cores

    @classmethod
    def at(cls, spent_s: float) -> _TimeMark:
        use = of_this_thread()
        return cls(time.perf_counter(), spent_s, use.queued_s if use is not None else 0.0)

    def queued_since(self, before: _TimeMark) -> float:
        """Of the time that was spent since, the part in which the thread waited for a core."""
        passed_s = self.time_s - before.time_s
        share = (self.spent_s - before.spent_s) / passed_s if passed_s else 0.0
        return share * (self.queued_s - before.queued_s)


# Which probes hear that a step begins or ends.
class Listeners:
    """Asking nine probes twice a step costs more than most steps' news: only those who listen are asked."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._beginners: list[Probe] = []
        self._enders: list[Probe] = []
        self._light_beginners: list[Probe] = []
        self._light_enders: list[Probe] = []

    def gather(self, probes: Sequence[Probe]) -> None:
        self._beginners = [probe for probe in probes if type(probe).begin_step is not Probe.begin_step]
        self._enders = [probe for probe in probes if type(probe).end_step is not Probe.end_step]
        self._light_enders = [probe for probe in self._enders if not probe.deep_only]

    def add_for_light_steps(self, probe: Probe) -> None:
        self._light_beginners.append(probe)
        self._light_enders.append(probe)

    def begin_step(self, before: int, depth: int) -> None:
        if DEEP in (before, depth):  # between steps that are not deep nothing changes for them
            beginners = self._beginners
        elif depth == LIGHT:
            beginners = self._light_beginners
        else:
            return
        for probe in beginners:
            self._guard.call(probe.name, probe.begin_step, depth)

    def cut_short(self) -> None:
        for probe in self._beginners:
            self._guard.contain(probe.name, probe.cut_short)

    def end_step(self, depth: int) -> None:
        for probe in self._enders if depth == DEEP else self._light_enders:
            if probe.name not in self._guard.removed:
                self._guard.contain(probe.name, probe.end_step)

    def end_all(self) -> None:
        """After the last step, whatever its depth."""
        for probe in self._enders:
            self._guard.call(probe.name, probe.end_step)
