"""The hub of all probes: one per process, whoever is watching.

Probes report here; records leave to the sinks, of which there are several where a `Debugger` is
used in a script that runs under `torch-debugger run`.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch._C._autograd import _profiler_enabled

from torch_debugger.probes.probe import Guard, Listeners, Patches, Probe, is_of_a_dead_device
from torch_debugger.probes.schedule import DEEP, NONE, Costs, Governor
from torch_debugger.probes.sinks import Sinks
from torch_debugger.probes.step_times import Phases
from torch_debugger.records import EndFact, Notice, ProbeFault, Scalars
from torch_debugger.stats.resources import of_this_thread
from torch_debugger.stats.transfer import Transfer
from torch_debugger.system.clocks import time
from torch_debugger.system.signals import leave_handlers, watch_handlers


class Watch:
    LOOKED_AT = frozenset({10, 30, 100, 300, 1000, 3000, 10_000})

    def __init__(
        self,
        *,
        budget: float = 0.02,
        always_deep: bool = False,
        first_deep: int = Governor.FIRST_DEEP,
        max_steps: int | None = None,
    ) -> None:
        self.clock = StepClock()
        self.governor = Governor(budget, always_deep=always_deep, first_deep=first_deep)
        self.guard = Guard(self._fault)
        self.training_thread = TrainingThread(self._step_aside, self.guard.is_looking)
        self.transfer = Transfer()
        self.phases = Phases(self.guard, self._say_split)
        self.on_device = False  # the model's numbers come later than its calls
        self.max_steps = max_steps
        self.depth = DEEP
        self.active = False
        self._installed = False
        self.stopping = False
        self.scalars: dict[str, float] = {}  # of the step under way
        self.on_step: list[Callable[[int, dict[str, float]], None]] = []  # (step, its scalars)
        self.between_steps: list[Callable[[int, dict[str, float]], None]] = []  # after the step is charged
        self.probes: list[Probe] = []
        self._listeners = Listeners(self.guard)
        self.sinks = Sinks()
        self.emit = self.sinks.emit
        self._patches = Patches()
        self._step_began = time.perf_counter()
        self.costs = Costs(self.governor, self.sinks)

    @property
    def step(self) -> int:
        """The step under way, counted from 1."""
        return self.clock.step + 1

    # Life and death

    def install(self, probes: Sequence[Probe]) -> None:
        self.active = self._installed = True
        watch_handlers(self._patches.replace)
        self.probes = list(probes)
        self.guard.call("step", self._listeners.gather, probes)
        for probe in probes if self.active else ():  # else it has failed at once
            self.guard.call(probe.name, probe.install, self._patches)
        self.guard.call("step", self._begin_step)

    def uninstall(self) -> None:
        """Everything off; the process is as it was."""
        if not self._installed:
            return
        self.active = self._installed = False
        for probe in self.probes:
            self.guard.contain(probe.name, probe.remove)
        self._patches.restore()
        leave_handlers()

    def forget(self) -> None:
        """In a forked child (a loader's worker): never report, never write."""
        self.active = self._installed = False
        self.sinks.forget()

    def _step_aside(self) -> None:
        if not self.guard.is_aside:
            self.guard.step_aside()
            self.active = False
            for probe in self.probes:
                self.guard.contain(probe.name, probe.step_aside)
            self.notice("several threads train at the same time: from here on the training is not looked at.")

    def finish(self, outcome: str) -> None:
        self.guard.call("last numbers", self._say_rest)
        self.uninstall()
        self.guard.call("last numbers", self.transfer.drain)
        self.guard.contain("cost", self.costs.tell, self.clock.step)
        self.emit(self.ending(outcome))

    def ending(self, outcome: str) -> EndFact:
        return EndFact("stopped" if self.stopping else outcome, self.clock.step, self.clock.counted)

    def _say_rest(self) -> None:
        """What came in after the last step: a final validation, numbers still on the device."""
        self._listeners.end_all()
        self.transfer.drain()
        self.mark(self.phases.finish)
        self.scalars.pop("time/data_wait_s", None)  # of a step that never was: its wait is no step's time
        if self.scalars:
            self.emit(Scalars(self.step, time.time(), self.scalars))

    # Steps

    def probe(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a probe's code: only while active, timed, contained."""
        if not self.active:
            return None
        return self.guard.call(name, function, *arguments)

    def hear(self, name: str, listen: Callable[..., Any], *arguments: Any) -> None:
        """A part of a look: left out where the look has taken too long."""
        if not self.guard.is_over():
            self.probe(name, listen, *arguments)

    def trains(self) -> None:
        """Said by the thread that trains, before each backward and each update."""
        self.guard.contain("threads", self.training_thread.trains)
        self.keep_to_limit()

    def is_training_thread(self) -> bool:
        return bool(self.guard.contain("threads", self.training_thread.is_this))

    @property
    def is_looked_at(self) -> bool:
        """A step that is, whatever its depth: a tiny one gets few deep looks, and trends need more."""
        return self.step in self.LOOKED_AT and not _profiler_enabled()

    def keep_to_limit(self, are_calls_too_deep: bool = False) -> bool:
        """Asked where hooks may come off: does this step's look end here? A part of one proves nothing: what is
        missing was just not seen."""
        if self.guard.is_over() or self.governor.is_hopeless:
            if self.governor.cut_short():
                takes = f"a close look at all layers takes longer than {Governor.LOOK_S:.0f} s"
                self.notice(f"{takes}: the next one waits until the budget affords it.")
        # What the script's profiler shows is the script's.
        elif not are_calls_too_deep and not (self.depth and _profiler_enabled()):
            return False
        self.guard.allow(math.inf)
        self.depth = NONE
        self._listeners.cut_short()
        return True

    def mark(self, act: Callable[..., None], *arguments: Any) -> None:
        """The training passes on to another part: heard so often that it is contained but not timed."""
        if self.phases.on and self.active and "phases" not in self.guard.removed:
            self.guard.contain("phases", act, *arguments)

    def traced(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A step run again to find a cause: told as a cost of its own, and no later look pays for it."""
        start = time.perf_counter()
        found = self.guard.call("replay", function, *arguments)
        took_s = time.perf_counter() - start
        self.costs.tracing_s += took_s
        self.guard.spent_s -= took_s
        return found

    @contextmanager
    def asleep(self) -> Iterator[None]:
        """What runs in here is ours (a replay), no part of the training."""
        before, self.active = self.active, False
        try:
            yield
        finally:
            self.active = before

    def end_step(self) -> None:
        """Called by whichever probe sees the step close. May raise SystemExit for --max-steps."""
        self.guard.call("step", self._end_step)
        if self.max_steps is not None and self.clock.step >= self.max_steps and not self.stopping:
            self.stopping = True
            raise SystemExit(0)

    def _end_step(self) -> None:
        self.keep_to_limit()
        self._listeners.end_step(self.depth)
        self.transfer.poll()
        self.mark(self.phases.end_step, self.step, self.depth == DEEP)
        self.scalars["time/step_s"] = time.perf_counter() - self._step_began
        self.emit(Scalars(self.step, time.time(), self.scalars))
        for tell in self.on_step:
            self.guard.call("step listener", tell, self.step, self.scalars)
        self.clock.step += 1
        self.governor.charge(self.depth, self.guard.take_spent())
        self.guard.contain("cost", self.costs.charge, self.clock.step)
        for act in self.between_steps:
            self.guard.call("between steps", act, self.clock.step, self.scalars)
        self._begin_step()

    def _begin_step(self) -> None:
        self.scalars = {}
        self._step_began = time.perf_counter()
        before, self.depth = self.depth, self.governor.choose(self.step)
        self.guard.allow(self.governor.limit_s if self.depth == DEEP else math.inf)
        self._listeners.begin_step(before, self.depth)
        if "phases" not in self.guard.removed:
            self.guard.contain("phases", self.phases.begin_step, self.on_device)

    def tell_of_light_steps(self, probe: Probe) -> None:
        """From now on, this one too."""
        self._listeners.add_for_light_steps(probe)

    def _fault(self, probe: str, error: BaseException) -> None:
        if not is_of_a_dead_device(error):
            self.emit(ProbeFault(probe, f"{type(error).__name__}: {error}", self.step))
        if probe == "step":
            self.uninstall()  # nobody would tell the probes any more when a step begins and ends
        for failed in self.probes:
            if failed.name == probe:
                self.guard.contain(probe, failed.give_up)

    def say(self, step: int, scalars: dict[str, float]) -> None:
        """Numbers of a step: with the others of the step under way, or on their own when late."""
        if step == self.step:
            self.scalars |= scalars
        else:
            self.emit(Scalars(step, time.time(), scalars))

    def _say_split(self, step: int, split: dict[str, float]) -> None:
        use = of_this_thread()
        queued = {"time/queued_s": use.queued_s} if use is not None else {}
        self.say(step, {f"split/{part}_s": seconds for part, seconds in split.items()} | queued)

    def notice(self, text: str) -> None:
        self.emit(Notice(text, self.step))


# When a step ends: learned from the order in which the script's optimizers step.
#
# A step closes when the optimizer that ends the repeating cycle has stepped; the next forward belongs to the next
# step. GAN scripts with two optimizers, or five critic steps for one generator step, therefore count iterations, not
# optimizer calls.
class StepClock:
    PATIENCE = 16  # optimizer steps to wait for an optimizer that was made but has not stepped
    BACKWARDS = 64  # backward passes without any optimizer step before those are counted instead

    def __init__(self) -> None:
        self.step = 0  # the step under way
        self.counted = "optimizer steps"
        self.optimizers_exist = False  # made before the watch; they may step yet
        self.optimizer_steps = 0  # of all optimizers
        self.skipped = 0  # of those, left out by a GradScaler
        self._waiting: set[Hashable] = set()
        self._seen: set[Hashable] = set()
        self._closer: Hashable | None = None
        self._since_close = 0
        self._longest_gap = 0
        self._backwards = 0
        self.backwards = 0  # backward passes seen

    def made(self, optimizer: Hashable) -> None:
        self._waiting.add(optimizer)

    def gone(self, optimizer: Hashable) -> None:
        self._waiting.discard(optimizer)
        self._seen.discard(optimizer)
        if self._closer == optimizer:
            self._closer = None

    def stepped(self, optimizer: Hashable) -> bool:
        """An optimizer has stepped; True when that ends the step."""
        self.optimizer_steps += 1
        self._backwards = -1
        self.counted = "optimizer steps"
        before, first_time = self._closer, optimizer not in self._seen
        self._seen.add(optimizer)
        self._waiting.discard(optimizer)
        if first_time or (self._closer is None and not self._waiting):
            self._closer = None if self._waiting else optimizer
        elif self._closer != optimizer and self._since_close >= max(self.PATIENCE, 4 * self._longest_gap):
            # The optimizers waited for do not step: a later stage of the script, or never.
            self._waiting.clear()
            self._closer = optimizer
        if self._closer != optimizer:
            self._since_close += 1
            return False
        if before == optimizer:  # else it was the wait for another that has just been given up
            self._longest_gap = max(self._longest_gap, self._since_close)
        self._since_close = 0
        return True

    def backward_done(self) -> bool:
        """A backward pass has ended; True when backward passes are what is counted."""
        self.backwards += 1
        if self._backwards < 0:
            return False
        self._backwards += 1
        if (self._waiting or self._seen or self.optimizers_exist) and self._backwards < self.BACKWARDS:
            return False
        self.counted = "backward passes"
        return True

    def skipped_step(self, optimizer: Hashable) -> bool:
        """A GradScaler did not let the optimizer step: for counting it did."""
        self.skipped += 1
        return self.stepped(optimizer)


# The one thread whose training is watched.
#
# Gradients are read while nobody writes them, which only the thread that trains can promise. Threads that only call a
# model (actors, loaders) are not listened to. Where a second thread trains at the same time, maybe the same weights,
# nothing is looked at any more.

# Where a thread waits that has given its work to another: for a lock or an event of Python's, in an event loop,
# in a pool.
_WAITING = ("threading.py", "selectors.py", os.path.join("concurrent", "futures", "thread.py"))
_LIBRARY = os.path.dirname(threading.__file__)
_QUIET_S = 1.0  # a thread that has not trained for so long has handed over


class TrainingThread:
    def __init__(self, step_aside: Callable[[], None], is_looking: Callable[[], bool]) -> None:
        self._step_aside, self._is_looking = step_aside, is_looking
        self._thread = 0
        self._trained_s = 0.0

    def is_this(self) -> bool:
        """Asked at every call of a model; the first to call one is it, until another trains."""
        thread = threading.get_ident()
        self._thread = self._thread or thread
        return thread == self._thread or _is_autograds(thread)

    def trains(self) -> None:
        """Said by this thread at each backward and each update."""
        thread = threading.get_ident()
        if thread != self._thread and not _is_autograds(thread):
            is_recent = time.perf_counter() - self._trained_s < _QUIET_S
            frame = sys._current_frames().get(self._thread) if is_recent else None
            # It has ended, or waits, maybe for this one: then it has handed over.
            is_busy = frame is not None and os.path.relpath(frame.f_code.co_filename, _LIBRARY) not in _WAITING
            if self._is_looking() or is_busy:
                self._step_aside()
                return
            self._thread = thread
        self._trained_s = time.perf_counter()


def _is_autograds(thread: int) -> bool:
    """Of the backward on a GPU: not made by Python, and its calls are those of the thread that waits for it."""
    made = threading._active.get(thread)  # type: ignore[attr-defined]
    return made is None or isinstance(made, threading._DummyThread)
