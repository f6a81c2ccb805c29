"""Memory over time by what it is used for: on deep steps and some others, before backward and after the update.

Sizes are read, no values: nothing waits for the device, and nothing is kept alive.
"""

from __future__ import annotations

import math
from types import FrameType

import torch

from torch_debugger.anatomy.frames import user_frame
from torch_debugger.clocks import time
from torch_debugger.probes.backward import Backward
from torch_debugger.probes.forward import Forward
from torch_debugger.probes.lagging import Lagging
from torch_debugger.probes.memory_moment import Known, MemoryMoment
from torch_debugger.probes.node_numbers import ModuleSpans, StepNumbers
from torch_debugger.probes.spacing import Spacing
from torch_debugger.probes.watch import Watch
from torch_debugger.records.memory import AFTER_UPDATE, BEFORE_BACKWARD, MemoryLook
from torch_debugger.stats.memory import measure_memory


class MemoryWatch:
    PROCESS_EVERY_S, PROCESS_TIMES = 1.0, 200
    LOOK_TIMES = 1000
    SHARE_OF_TIME = 0.002  # of the run, for looks after an update that is not a deep step's

    def __init__(
        self, watch: Watch, forward: Forward, backward: Backward, lagging: Lagging, numbers: StepNumbers
    ) -> None:
        self.watch = watch
        self.backward = backward
        self.lagging = lagging
        self.numbers = numbers
        self.latest: dict[str, MemoryLook] = {}  # by device: the last look before a backward
        self._spans = ModuleSpans(watch, forward)
        self._known = Known()
        self._before: dict[str, MemoryLook] = {}  # by device: the fullest of the step's backward calls
        self._batch: set[int] = set()  # numbers of the storages that the step's batch is in
        self._process = Spacing(self.PROCESS_EVERY_S, self.PROCESS_TIMES)
        self._looks = Spacing(0.0, self.LOOK_TIMES)
        self._next_look = math.inf
        backward.on_look.append(self._before_backward)
        watch.on_step.append(self._step_done)

    def _before_backward(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        self.watch.probe("memory", self._look, loss, frame)

    def _step_done(self, step: int, scalars: dict[str, float]) -> None:
        now = time.monotonic()
        if self._before or (now >= self._next_look and self._looks.is_time(now)):
            self.watch.probe("memory", self._tell)
            self._before, self._batch = {}, set()
            ended = time.monotonic()
            self._next_look = ended + (ended - now) / self.SHARE_OF_TIME
            self._looks.done(now)
        if self._process.is_time(now):
            self._process.done(now)
            self.watch.probe("memory", self._tell_process, step)

    def _moment(self) -> MemoryMoment:
        return MemoryMoment(self.watch.step, self.backward, self.lagging, self.numbers, self._spans)

    def _look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        moment = self._moment()
        self._batch |= moment.state()
        moment.graph(loss)
        moment.variables(frame, self._known, self._batch)
        for found in moment.records(BEFORE_BACKWARD):
            known = self._before.get(found.device)
            if known is None or found.used_bytes > known.used_bytes:
                self._before[found.device] = found

    def _tell(self) -> None:
        after = self._moment()
        after.state()
        after.variables(user_frame(), self._known, self._batch)
        self.latest = self._before or self.latest
        for look in (*self._before.values(), *after.records(AFTER_UPDATE)):
            self.watch.emit(look)

    def _tell_process(self, step: int) -> None:
        self.watch.emit(measure_memory(step))
