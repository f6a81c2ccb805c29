"""The probes of a process that has torch: one set, whoever is watching."""

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
from torch_debugger.probes.catalog import Probes, kinds_of_probes
from torch_debugger.probes.data.loaders import Loaders
from torch_debugger.probes.gradients_autograd_nodes import Meeting
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.memory import MemoryWatch
from torch_debugger.probes.model.forward import Forward
from torch_debugger.probes.model.inference import CallReplay
from torch_debugger.probes.model.module_state import ModuleMoves
from torch_debugger.probes.model.root_modules import RootModules
from torch_debugger.probes.nonfinite import NonFiniteHunt, Policy, Replays
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.watch import Watch
from torch_debugger.records import CrashFact, RunFact
from torch_debugger.records.sinks import Sink, set_watched_run
from torch_debugger.runner.hang_watch import HangWatch
from torch_debugger.runner.hyperparameters import FirstStep
from torch_debugger.runner.processes import RankProcesses, WorkerSamples
from torch_debugger.runner.profiled_steps import Profiles, StackSamples
from torch_debugger.runner.replays import GradientTrials, Rehearsals, StepReplays
from torch_debugger.runner.step_trials import Preflights, Scenes, StepRehearsals
from torch_debugger.settings import Settings
from torch_debugger.system.redaction import redact_record
from torch_debugger.system.signals import alarms_deferred

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
        self._breaks = settings.breaks
        self._breakpoints: Sequence[Breakpoint] = ()
        if run is not None:
            self.watch.sinks.remember(run)
        self._probes = probes = Probes()
        probes.put(Watch, self.watch)
        probes.put(Settings, settings)
        probes.put(Policy, Policy(self.watch, settings.on_nan, _stop_at))
        for protocol in (Replays, CallReplay):
            probes.put(protocol, probes.get(StepReplays))
        self._gradients = probes.get(GradientTrials)
        probes.put(Meeting, self._gradients.begin)
        names_accelerator = run is not None and run.names_accelerator
        probes.put(Scenes, Scenes(probes.get(Backward), probes.get(Loaders), names_accelerator))
        on_cpu = run is not None and run.device == "cpu"
        own_kinds = _kinds_of_the_runner(settings, rehearses=settings.rehearse and names_accelerator and on_cpu)
        self._in_order = probes.in_order(kinds_of_probes(settings, own_kinds))
        if settings.check_custom_gradients:
            self.watch.on_step.append(self._gradients.poll)

        self.loaders, self.roots, self.forward = probes.get(Loaders), probes.get(RootModules), probes.get(Forward)
        self.lagging, self.hunt = probes.get(AsyncSteps), probes.get(NonFiniteHunt)
        self.optimizers, self.backward = probes.get(Optimizers), probes.get(Backward)
        self.profiles, self.hangs, self.ranks = probes.get(Profiles), probes.get(HangWatch), probes.get(RankProcesses)
        self.preflights, self.step_rehearsals = probes.made(Preflights), probes.made(StepRehearsals)

    def start(self) -> None:
        self.watch.install(self._in_order)
        if self._breaks:
            from torch_debugger.probes.breakpoints import set_breaks

            self._breakpoints = set_breaks(self._breaks, current_watch)

    @alarms_deferred()
    def crash(self, error: BaseException, only: Sequence[Sink] = ()) -> None:
        """Explain an exception to these watchers, or to all."""
        self.watch.probe("ranks", self.ranks.tell_ends)
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
            optimizers={tracked.name: optimizer for tracked, optimizer in self.optimizers.live()},
            calls={root.name: root.call for root, _ in alive if root.call is not None},
            batches=self.loaders.recent.latest_first(),
            memory=self._probes.get(MemoryWatch).latest,
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
            self._probes.get(StackSamples).finish()
            if (rehearsals := self._probes.made(Rehearsals)) is not None:
                rehearsals.wait()
            self.watch.guard.call("custom gradients", self._gradients.wait)
            self.watch.finish(outcome)
            if _current is self:
                _current = None
                set_watched_run(None)
        else:
            self.watch.sinks.tell(sinks, self.watch.ending(outcome))
        for sink in sinks:
            self.watch.sinks.leave(sink)


def _kinds_of_the_runner(settings: Settings, *, rehearses: bool) -> list[type]:
    kinds: list[type] = [FirstStep, StackSamples, Profiles, RankProcesses]
    kinds += [WorkerSamples] if settings.profile_steps else []
    kinds += [HangWatch]
    kinds += [Preflights] if settings.preflight else [StepRehearsals] if settings.step_rehearsal else []
    return [*kinds, ModuleMoves, Rehearsals] if rehearses else kinds


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
