"""The hub of all probes: one per process, whoever is watching.

Probes report here; records leave to the sinks, of which there are several where a `Debugger` is
used in a script that runs under `torch-debugger run`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch_debugger.anatomy.core_use import of_this_thread
from torch_debugger.probes.clock import StepClock
from torch_debugger.probes.guard import Guard, is_of_a_dead_device
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.phases import Phases
from torch_debugger.probes.sampling import DEEP, LIGHT, Governor
from torch_debugger.probes.sinks import Sinks
from torch_debugger.records import EndFact, Notice, ProbeFault, Scalars
from torch_debugger.stats.transfer import Transfer


class Probe:
    """A pair of ears on one part of the training. Subclasses override what they need."""

    name = "probe"
    deep_only = False  # its end_step has news after a deep step only

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

    def remove(self) -> None:
        """Take off what `patches` does not."""


class Watch:
    COST_EVERY_S = 1.0

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
        self.transfer = Transfer()
        self.phases = Phases(self.guard, self._say_split)
        self.on_device = False  # the model's numbers come later than its calls
        self.max_steps = max_steps
        self.depth = DEEP
        self.active = False
        self.stopping = False
        self.scalars: dict[str, float] = {}  # of the step under way
        self.on_step: list[Callable[[int, dict[str, float]], None]] = []  # (step, its scalars)
        self.between_steps: list[Callable[[int, dict[str, float]], None]] = []  # after the step is charged
        self.probes: list[Probe] = []
        self._beginners: list[Probe] = []
        self._enders: list[Probe] = []
        self._light_enders: list[Probe] = []
        self._light_beginners: list[Probe] = []
        self.sinks = Sinks()
        self.emit = self.sinks.emit
        self._patches = Patches()
        self._pid = os.getpid()
        self._step_began = time.perf_counter()
        self._cost_said = 0.0
        self._extra_charged_s = 0.0
        self.tracing_s = 0.0  # spent on steps that were run again

    @property
    def step(self) -> int:
        """The step under way, counted from 1."""
        return self.clock.step + 1

    # Life and death

    def install(self, probes: Sequence[Probe]) -> None:
        self.active = True
        self.probes = list(probes)
        # Asking nine probes twice a step costs more than most steps' news: only those who listen.
        self._beginners = [probe for probe in probes if type(probe).begin_step is not Probe.begin_step]
        self._enders = [probe for probe in probes if type(probe).end_step is not Probe.end_step]
        self._light_enders = [probe for probe in self._enders if not probe.deep_only]
        for probe in probes:
            self.guard.call(probe.name, probe.install, self._patches)
        self.guard.call("step", self._begin_step)

    def uninstall(self) -> None:
        """Everything off; the process is as it was."""
        if not self.active:
            return
        self.active = False
        for probe in self.probes:
            self.guard.contain(probe.name, probe.remove)
        self._patches.restore()

    def forget(self) -> None:
        """In a forked child (a loader's worker): never report, never write."""
        self.active = False
        self.sinks.forget()

    def finish(self, outcome: str) -> None:
        self.guard.call("last numbers", self._say_rest)
        self.uninstall()
        self.guard.call("last numbers", self.transfer.drain)
        self.guard.contain("cost", self._say_cost)
        self.emit(self.ending(outcome))

    def ending(self, outcome: str) -> EndFact:
        return EndFact("stopped" if self.stopping else outcome, self.clock.step, self.clock.counted)

    def _say_rest(self) -> None:
        """What came in after the last step: a final validation, numbers still on the device."""
        for probe in self._enders:
            self.guard.call(probe.name, probe.end_step)
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

    def mark(self, act: Callable[..., None], *arguments: Any) -> None:
        """The training passes on to another part: heard so often that it is contained but not timed."""
        if self.phases.on and self.active and "phases" not in self.guard.removed:
            self.guard.contain("phases", act, *arguments)

    def traced(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A step run again to find a cause: told as a cost of its own, and no later look pays for it."""
        start = time.perf_counter()
        found = self.guard.call("replay", function, *arguments)
        took_s = time.perf_counter() - start
        self.tracing_s += took_s
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
        for probe in self._enders if self.depth == DEEP else self._light_enders:
            if probe.name not in self.guard.removed:
                self.guard.contain(probe.name, probe.end_step)
        self.transfer.poll()
        self.mark(self.phases.end_step, self.step, self.depth == DEEP)
        now = time.perf_counter()
        self.scalars["time/step_s"] = now - self._step_began
        self.emit(Scalars(self.step, time.time(), self.scalars))
        for tell in self.on_step:
            self.guard.call("step listener", tell, self.step, self.scalars)
        self.clock.step += 1
        self._charge(now)
        for act in self.between_steps:
            self.guard.call("between steps", act, self.clock.step, self.scalars)
        self._begin_step()

    def _charge(self, now: float) -> None:
        self.governor.charge(self.depth, self.guard.take_spent())
        if now - self._cost_said > self.COST_EVERY_S:
            extra_s = self.sinks.cpu_s
            self.governor.charge_base(extra_s - self._extra_charged_s)
            self._extra_charged_s = extra_s
            self.guard.contain("cost", self._say_cost)

    def _begin_step(self) -> None:
        self.scalars = {}
        self._step_began = time.perf_counter()
        before, self.depth = self.depth, self.governor.choose(self.step)
        if DEEP in (before, self.depth):  # between steps that are not deep nothing changes for them
            for probe in self._beginners:
                self.guard.call(probe.name, probe.begin_step, self.depth)
        elif self.depth == LIGHT:
            for probe in self._light_beginners:
                self.guard.call(probe.name, probe.begin_step, self.depth)
        if "phases" not in self.guard.removed:
            self.guard.contain("phases", self.phases.begin_step, self.on_device)

    def tell_of_light_steps(self, probe: Probe) -> None:
        """From now on, this one too."""
        self._light_beginners.append(probe)
        self._light_enders.append(probe)

    def _say_cost(self) -> None:
        self._cost_said = time.perf_counter()
        self.emit(self.governor.account(self.clock.step, self.tracing_s))

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
