"""`torch-debugger doctor`: a script's first backward handed to the trials, after which the script ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import torch

from torch_debugger.anatomy.forked import in_fork
from torch_debugger.anatomy.frames import frames, place_of
from torch_debugger.anatomy.loss_variable import loss_name
from torch_debugger.anatomy.moments import Moment, moment_of
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.anatomy.statements import assignment_before
from torch_debugger.probes.backward import Backward
from torch_debugger.probes.loaders import Loaders
from torch_debugger.probes.scaled_losses import SCALED

if TYPE_CHECKING:
    from torch_debugger.trials.preflight.case import Case
    from torch_debugger.trials.preflight.fitting import Tell
    from torch_debugger.trials.preflight.own_loss import OwnLoss
    from torch_debugger.trials.preflight.scene import Scene, Way

_FRAMES = 4  # of the user's, from the innermost out


class Preflights:
    """Hears of backwards; the first one is the last."""

    def __init__(self, backward: Backward, loaders: Loaders, minimal: str, names_gpu: bool) -> None:
        self.watch = backward.watch
        self.roots = backward.roots
        self.optimizers = backward.optimizers
        self.scaler = backward.scaler
        self.loaders = loaders
        self.minimal = minimal  # where to write the minimal case; empty: nowhere
        self.names_gpu = names_gpu  # the script does, somewhere
        self.tell: Tell = lambda step, loss: None  # how far a trial is
        self.tell_done: Callable[[int], None] = lambda trials: None
        backward.on_look.append(self.see_backward)

    def see_backward(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if in_fork():
            return
        own = [moment_of(each) for each in frames(1) if is_user_file(each.f_code.co_filename)][:_FRAMES]
        value, scale = loss.item(), self._scale()
        with self.watch.asleep(), torch._C._EnableTorchFunction():
            self.watch.guard.contain("pre-flight", self._try, own, value, scale, frame)
        self.watch.stopping = True
        raise SystemExit(0)

    def _scale(self) -> float:
        """By which a GradScaler has multiplied the loss."""
        losses = self.scaler.losses
        scaler = losses.scaler() if losses.scaler is not None and SCALED in losses.kinds else None
        return float(scaler.get_scale()) if scaler is not None else 1.0

    def _try(self, moments: list[Moment], value: float, scale: float, frame: FrameType | None) -> None:
        from torch_debugger.trials.hunt.step import can_fork
        from torch_debugger.trials.preflight.apart import text_apart, text_here, trial_apart, trial_here
        from torch_debugger.trials.preflight.case import NotPossibleError
        from torch_debugger.trials.preflight.conduct import Trials
        from torch_debugger.trials.preflight.description import describe_case
        from torch_debugger.trials.preflight.scene import case_of_scene

        scene = self._scene(moments, value, scale)
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

    def _scene(self, moments: list[Moment], value: float, scale: float) -> Scene:
        from torch_debugger.trials.hunt.model import Model
        from torch_debugger.trials.preflight.scene import Scene

        models = {
            root.name: Model(module, root.paths, root.call, root.rng_state, root.device_rng, root.first_rng)
            for root, module in self.roots.alive()
            if root.trained
        }
        optimizers = [optimizer for _, optimizer in self.optimizers.live()]
        batch = self.loaders.last[0]
        return Scene(moments, models, optimizers, value / scale, batch, self.names_gpu, scale)
