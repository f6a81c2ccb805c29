"""`torch-debugger doctor`: a script's first backward handed to the trials, after which the script ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import torch

from torch_debugger.anatomy.forked import in_fork
from torch_debugger.anatomy.frames import place_of
from torch_debugger.anatomy.loss_variable import loss_name
from torch_debugger.anatomy.statements import assignment_before
from torch_debugger.probes.backward import Backward
from torch_debugger.scenes import Scenes

if TYPE_CHECKING:
    from torch_debugger.trials.preflight.case import Case
    from torch_debugger.trials.preflight.fitting import Tell
    from torch_debugger.trials.preflight.own_loss import OwnLoss
    from torch_debugger.trials.preflight.scene import Scene, Way


class Preflights:
    """Hears of backwards; the first one is the last."""

    def __init__(self, backward: Backward, scenes: Scenes, minimal: str) -> None:
        self.watch = backward.watch
        self.scenes = scenes
        self.minimal = minimal  # where to write the minimal case; empty: nowhere
        self.tell: Tell = lambda step, loss: None  # how far a trial is
        self.tell_done: Callable[[int], None] = lambda trials: None
        self.leave: Callable[[], None] = sys.exit
        backward.on_look.append(self.see_backward)

    def see_backward(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if in_fork():
            return
        scene = self.scenes.at_backward(loss)
        with self.watch.asleep(), torch._C._EnableTorchFunction():
            self.watch.guard.contain("pre-flight", self._try, scene, frame)
        self.watch.stopping = True
        self.leave()

    def _try(self, scene: Scene, frame: FrameType | None) -> None:
        from torch_debugger.trials.hunt.step import can_fork
        from torch_debugger.trials.preflight.apart import text_apart, text_here, trial_apart, trial_here
        from torch_debugger.trials.preflight.case import NotPossibleError
        from torch_debugger.trials.preflight.conduct import Trials
        from torch_debugger.trials.preflight.description import describe_case
        from torch_debugger.trials.preflight.scene import case_of_scene

        forks = can_fork(list(scene.models.values()))
        try:
            case, way = case_of_scene(scene, text_apart if forks else text_here)
        except NotPossibleError as reason:
            self.watch.notice(str(reason))
            return
        site = place_of(frame)
        self.watch.emit(describe_case(case, scene.loss, assignment_before(site, loss_name(site)) or site))
        results = Trials(case, self.tell).results(trial_apart if forks else trial_here)
        for done, result in enumerate(results, 1):
            self.watch.emit(result)
            self.tell_done(done)
        if self.minimal:
            self._write_minimal(case, way)

    def _write_minimal(self, case: Case, way: Way | OwnLoss | None) -> None:
        from torch_debugger.trials.preflight.case import NotPossibleError
        from torch_debugger.trials.preflight.minimal import write_minimal
        from torch_debugger.trials.preflight.own_loss import OwnLoss

        try:
            if way is None or isinstance(way, OwnLoss) or case.no_inputs:
                raise NotPossibleError(
                    "The minimal case was not written: the step's lines cannot be run alone."
                )
            self.watch.notice(write_minimal(way.lines, way.begin, case.samples, Path(self.minimal)))
        except NotPossibleError as reason:
            self.watch.notice(str(reason))
