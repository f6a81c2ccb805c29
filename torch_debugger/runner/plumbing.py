"""The pipes inside a process that has torch: which probes there are, one set a process, and who hears whom."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from torch_debugger.crashes.capture import capture_crash
from torch_debugger.crashes.frames import Running
from torch_debugger.crashes.values_not_finite import look_for_the_origin
from torch_debugger.probes.async_steps import AsyncSteps
from torch_debugger.probes.catalog import Health, look_at_data, loop_probes, model_use_probes
from torch_debugger.probes.data.loaders import Loaders
from torch_debugger.probes.gradients_autograd_nodes import CustomFunctions
from torch_debugger.probes.gradients_scaling_clipping import Clipping, Scaler
from torch_debugger.probes.gradients_unreached import Unreached
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.memory import MemoryWatch
from torch_debugger.probes.metrics import Evaluation, UserScalars
from torch_debugger.probes.model.forward import Forward
from torch_debugger.probes.model.freezing import Flags
from torch_debugger.probes.model.module_state import Checkpoints, PlainTensors
from torch_debugger.probes.model.parameters import Ledger
from torch_debugger.probes.model.root_modules import RootModules, UnregisteredModules
from torch_debugger.probes.model.torch_compile import Captured, Compiled, Uncompiled
from torch_debugger.probes.model.value_ranges import Ranges
from torch_debugger.probes.model.weights import BadWeights
from torch_debugger.probes.nonfinite import NonFiniteHunt, Policy
from torch_debugger.probes.optimizers import Optimizers, ParameterLook
from torch_debugger.probes.optimizers_step_order import Cycles
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.speed import SpeedSetup
from torch_debugger.probes.watch import Watch
from torch_debugger.records import CrashFact, RunFact
from torch_debugger.records.sinks import Sink, set_watched_run
from torch_debugger.runner.hang_watch import HangWatch
from torch_debugger.runner.hyperparameters import FirstStep
from torch_debugger.runner.processes import ProcessProbes
from torch_debugger.runner.profiled_steps import Profiles, StackSamples
from torch_debugger.runner.replays import GradientTrials, Rehearsals, StepReplays
from torch_debugger.runner.step_trials import Preflights, Scenes, StepRehearsals
from torch_debugger.settings import Settings
from torch_debugger.system.redaction import redact_record
from torch_debugger.system.signals import alarms_held

if TYPE_CHECKING:
    from torch_debugger.probes.breakpoints_stops import Breakpoint


_current: Plumbing | None = None


class Plumbing:
    """All probes of this process, and the trials they may start."""

    def __init__(self, settings: Settings, run: RunFact | None) -> None:
        self.watchers = 0
        self.reports_at_end = False  # a session watches the whole script; others need not report on it
        self.watch = Watch(
            budget=settings.budget,
            always_deep=settings.deep_always,
            first_deep=settings.deep_steps,
            max_steps=settings.max_steps,
        )
        watch = self.watch
        self.loaders = Loaders(watch)
        self.strays = UnregisteredModules(watch)
        self.roots = RootModules(watch)
        self.forward = Forward(watch, self.roots, self.strays)
        self.lagging = AsyncSteps(watch, self.roots)
        self._replays = StepReplays(watch, self.roots, self.loaders, self.lagging)
        policy = Policy(watch, settings.on_nan, _stop_at)
        self.hunt = NonFiniteHunt(watch, self.roots, self.lagging, self._replays, policy)
        looks = ParameterLook(watch, self.roots, self.strays, self.hunt)
        self.optimizers = Optimizers(watch, self.strays, looks)
        self.scaler = Scaler(watch, self.optimizers)
        self.hunt.explain_weights = BadWeights(self.roots, self.optimizers).explain
        self.backward = Backward(watch, self.roots, self.optimizers, self.hunt, self.scaler)
        health = Health(watch, self.backward, self.optimizers)
        self.cycles = Cycles(watch, self.optimizers)
        self.backward.on_every_look.append(self.cycles.see_backward)
        self._data_probes = look_at_data(watch, self.roots, self.forward, self.backward, settings)
        SpeedSetup(watch)
        self._memory = MemoryWatch(watch, self.forward, self.backward, self.lagging, health.numbers)
        self.stacks = StackSamples(watch)
        self.profiles = Profiles(watch, self.roots, settings.profile_steps, settings.log_dir)
        self.ledger = Ledger(watch, self.roots, self.optimizers, self.forward)
        self.unreached = Unreached(watch, self.ledger)
        self.hangs = HangWatch(watch, self.loaders, self.roots, settings)
        self._rehearsals = Rehearsals(watch)
        self.processes = ProcessProbes(watch, settings)
        self._gradients = GradientTrials(watch)
        self._settings = settings
        self._breakpoints: Sequence[Breakpoint] = ()
        self.preflights: Preflights | None = None
        if run is not None:
            watch.sinks.remember(run)
        self.step_rehearsals: StepRehearsals | None = None
        if settings.preflight or settings.step_rehearsal:
            scenes = Scenes(self.backward, self.loaders, run is not None and run.names_accelerator)
            if settings.preflight:
                self.preflights = Preflights(self.backward, scenes, settings.minimal)
            else:
                self.step_rehearsals = StepRehearsals(self.backward, scenes, settings)
        if settings.rehearse and run is not None and run.names_accelerator and run.device == "cpu":
            self._rehearsals.listen(self.backward)

    def start(self) -> None:
        # Their end_step runs in this order: numbers of the step first, the inputs let go last.
        watch = self.watch
        others = [self.loaders, Evaluation(watch), UserScalars(watch, self.loaders), self.scaler]
        others += [Clipping(watch, self.scaler), Ranges(watch, self.forward), *self._rehearsals.probes]
        others += [self._compile_probe(), Captured(watch), self.cycles, Checkpoints(watch)]
        others += [FirstStep(watch), *self._data_probes, *self.processes.all, self.hangs]
        known = (self.forward, self.backward, self.optimizers, self._replays)
        others += model_use_probes(watch, *known, page=self._settings.page)
        others += loop_probes(watch, self.roots, self.optimizers, self.loaders)
        if self._settings.check_custom_gradients:
            others.append(CustomFunctions(watch, self._gradients.begin))
            watch.on_step.append(self._gradients.poll)
        last = [self.backward, self.optimizers, self.forward, self.ledger, self.unreached]
        last += [Flags(watch, self.optimizers), PlainTensors(watch, self.optimizers), self.lagging, self.roots]
        watch.install([*others, *last])
        if self._settings.breaks:
            from torch_debugger.probes.breakpoints import set_breaks

            self._breakpoints = set_breaks(self._settings.breaks, current_watch)

    def _compile_probe(self) -> Probe:
        plain = self.preflights is None and self.step_rehearsals is None
        return Compiled(self.watch, self.roots, self.forward) if plain else Uncompiled(self.watch)

    @alarms_held()
    def crash(self, error: BaseException, only: Sequence[Sink] = ()) -> None:
        """Explain an exception to these watchers, or to all."""
        self.watch.probe("ranks", self.processes.ranks.tell_ends)
        self.watch.probe("non-finite", look_for_the_origin, self.hunt, error)
        self.watch.probe("custom gradients", self._gradients.end_by, error)
        fact = self.capture(error)
        self.watch.sinks.tell(only, fact) if only else self.watch.emit(fact)

    def capture(self, error: BaseException) -> CrashFact:
        """The crash and all that the probes know of the run around it; without secrets, as trackers hear it."""
        with self.watch.asleep():
            fact: CrashFact = redact_record(capture_crash(error, self.watch.step, self.running()))
        return fact

    def running(self) -> Running:
        """What the probes know of the run, for whoever examines a crash."""
        alive = self.roots.alive()
        return Running(
            models={root.name: module for root, module in alive},
            optimizers={held.name: optimizer for held, optimizer in self.optimizers.live()},
            calls={root.name: root.call for root, _ in alive if root.call is not None},
            batches=self.loaders.recent.latest_first(),
            memory=self._memory.latest,
            asked=self.loaders.asked(),
        )

    def disconnect(self, sinks: Sequence[Sink], outcome: str) -> None:
        """One watcher goes; the last one takes the probes off."""
        global _current
        self.watchers -= 1
        if self.watchers == 0:
            for breakpoint in self._breakpoints:
                breakpoint.remove()
            self.profiles.finish()
            self.stacks.finish()
            self._rehearsals.wait()
            self.watch.guard.call("custom gradients", self._gradients.wait)
            self.watch.finish(outcome)
            if _current is self:
                _current = None
                set_watched_run(None)
        else:
            self.watch.sinks.tell(sinks, self.watch.ending(outcome))
        for sink in sinks:
            self.watch.sinks.leave(sink)


def _stop_at(frame: FrameType, reason: str, names: dict[str, Any]) -> None:
    from torch_debugger.probes.breakpoints_stops import stop_at  # only where a breakpoint is wanted

    stop_at(frame, reason, names)


def capture(error: BaseException) -> CrashFact:
    """A crash seen by whoever watches this process, else by its frames alone."""
    return _current.capture(error) if _current is not None else redact_record(capture_crash(error, 0))


def current_watch() -> Watch | None:
    """The watch of this process, if somebody watches it."""
    return _current.watch if _current is not None else None


def is_reported_at_end() -> bool:
    """Under `torch-debugger run` the report at the end tells it all; said twice it only confuses."""
    return _current is not None and _current.reports_at_end


def connect(settings: Settings, sinks: Sequence[Sink], run: RunFact | None) -> Plumbing:
    """Join the probes of this process, or put them on if nobody watches yet."""
    global _current
    if _current is None:
        _current = Plumbing(settings, run)
        set_watched_run(_current.watch)
    for sink in sinks:
        _current.watch.sinks.join(sink, told=run)
    if not _current.watchers:
        _current.start()
    _current.watchers += 1
    _listen_for_forks()
    return _current


@functools.cache  # once in a process
def _listen_for_forks() -> None:
    os.register_at_fork(after_in_child=_forget)


def _forget() -> None:
    """In a forked child: what the parent watched is none of its business."""
    global _current
    if _current is not None:
        _current.watch.forget()
        _current = None
        set_watched_run(None)
