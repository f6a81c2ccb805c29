"""Schedulers of the learning rate: what they are made with, and how often they are stepped.

Their `step` is left alone: torch's warnings name the line that calls it. A scheduler counts its steps
itself. That count is read beside the optimizer's on deep steps and about fifty times a thousand steps; the
calls are found in the source.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass
from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.optimizers_known import TrackedOptimizer
from torch_debugger.probes.probe import Patches, Probe, around_init
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, SchedulerFact, SchedulerLook
from torch_debugger.source.calls import calls_of
from torch_debugger.source.frames import place_of, user_frame
from torch_debugger.source.objects import is_a
from torch_debugger.source.statements import statement_at
from torch_debugger.source.variables import name_of

_NUMBERS = ("step_size", "gamma", "T_max", "total_steps", "total_iters", "T_0", "eta_min", "factor", "patience")
_NO_SCHEDULERS = {"", "self", "env", "envs", "scaler", "prof", "profiler", "p", "accelerator"}


@dataclass
class _Scheduler:
    scheduler: weakref.ref[Any]
    number: int
    place: Place
    first: int  # its count of steps when it was made: more than 0 where it resumes
    name: str | None = None
    calls: tuple[Place, ...] = ()
    others_called: bool = False
    held: weakref.ref[TrackedOptimizer] | None = None  # which holds a parameter
    update: Place = Place()  # noqa: RUF009  frozen


class Schedulers(Probe):
    name = "schedulers"
    deep_only = True  # until there is a scheduler
    LIMIT = 8  # a script that makes one for each trial must not fill the log
    FIRST = 8  # the step of the first look that is no deep step's

    def __init__(self, watch: Watch, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self.optimizers = optimizers
        self._known: list[_Scheduler] = []
        self._next = self.FIRST
        optimizers.before_update.append(self._before_update)

    def install(self, patches: Patches) -> None:
        for kind in (LRScheduler, ReduceLROnPlateau):
            patches.replace(kind, "__init__", around_init(self.watch, self.name, self._meet))

    def end_step(self) -> None:
        step = self.watch.step
        if self._known and step >= self._next:
            self._next = step + max(1, step // 20)
            self._tell_all()

    def remove(self) -> None:
        self._tell_all(last=True)
        self._known = []

    def _meet(self, scheduler: Any) -> None:
        if len(self._known) >= self.LIMIT:
            return
        if not self._known:
            self.watch.tell_of_light_steps(self)
        place = place_of(user_frame(2))
        number = len(self._known) + 1
        self._known.append(_Scheduler(weakref.ref(scheduler), number, place, scheduler.last_epoch))
        tracked = self.optimizers.held.get(id(scheduler.optimizer))
        settings = {key: vars(scheduler)[key] for key in _NUMBERS if key in vars(scheduler)}
        self.watch.emit(
            SchedulerFact(
                type(scheduler).__name__,
                tracked.name if tracked is not None else "",
                place,
                self.watch.step,
                number,
                {key: float(value) for key, value in settings.items() if is_a(value, (int, float))},
                statement_at(place),
            )
        )

    def _before_update(self, tracked: TrackedOptimizer, optimizer: Optimizer) -> None:
        """Told on deep steps."""
        for known in self._known:
            scheduler = known.scheduler()
            if scheduler is not None and scheduler.optimizer is optimizer:
                if known.held is None or known.others_called:  # another optimizer may have its name by now
                    self._find_calls(known, scheduler, tracked)
                self._tell(known, tracked, scheduler)

    def _find_calls(self, known: _Scheduler, scheduler: Any, tracked: TrackedOptimizer) -> None:
        frame = user_frame(2)
        known.held, known.update = weakref.ref(tracked), place_of(frame)
        known.name = name_of(scheduler, frame)
        files = dict.fromkeys((known.update.file, known.place.file))
        steps = [call for file in files for call in calls_of(file, "step")]
        known.calls = tuple(place for owner, place in steps if owner == known.name)
        optimizers = {each.name for each, _ in self.optimizers.live()}
        others = {name_of(each.scheduler(), frame) for each in self._known if each.scheduler() is not None}
        known.others_called = any(owner not in _NO_SCHEDULERS | optimizers | others for owner, _ in steps)

    def _tell_all(self, last: bool = False) -> None:
        for known in self._known:
            scheduler = known.scheduler()
            tracked = known.held() if known.held is not None else None
            if scheduler is not None and tracked is not None:
                self._tell(known, tracked, scheduler, last)

    def _tell(self, known: _Scheduler, tracked: TrackedOptimizer, scheduler: Any, last: bool = False) -> None:
        rate = scheduler.optimizer.param_groups[0]["lr"]
        self.watch.emit(
            SchedulerLook(
                self.watch.step,
                known.number,
                known.name or "",
                tracked.name,
                scheduler.last_epoch - known.first,
                tracked.steps,
                float(rate) if is_a(rate, (int, float)) else math.nan,
                known.calls,
                known.update,
                known.others_called,
                last,
                self.watch.clock.backwards,
            )
        )
