"""A script's step at its backward: the frames, models, optimizers and batch with which it can be made again."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

from torch_debugger.model.forks import in_fork
from torch_debugger.probes.data.loaders import Loaders
from torch_debugger.probes.gradients_scaling_clipping import SCALED
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.settings import Settings
from torch_debugger.source.files import is_user_file
from torch_debugger.source.frames import frames, place_of
from torch_debugger.source.losses import loss_name
from torch_debugger.source.statements import assignment_before
from torch_debugger.source.variables import moment_of
from torch_debugger.system.errors import UsageError

if TYPE_CHECKING:
    from torch_debugger.trials.first_step import FirstBackward, LineRun, OwnLoss
    from torch_debugger.trials.preflight_case import Case
    from torch_debugger.trials.preflight_training import Tell


_FRAMES = 4  # of the user's, from the innermost out


class Scenes:
    def __init__(self, backward: Backward, loaders: Loaders, names_gpu: bool) -> None:
        self._roots = backward.roots
        self._optimizers = backward.optimizers
        self._scaler = backward.scaler
        self._loaders = loaders
        self._names_gpu = names_gpu  # the script does, somewhere

    def at_backward(self, loss: torch.Tensor) -> FirstBackward:
        """To be asked while the script is inside backward()."""
        from torch_debugger.trials.first_step import FirstBackward as Scene
        from torch_debugger.trials.nan_in_forward import Model

        own = [moment_of(each) for each in frames(1) if is_user_file(each.f_code.co_filename)][:_FRAMES]
        models = {
            root.name: Model(module, root.paths, root.call, root.rng_state, root.device_rng, root.first_rng)
            for root, module in self._roots.alive()
            if root.trained
        }
        optimizers = [optimizer for _, optimizer in self._optimizers.live()]
        scale = self._scale()
        batch = self._loaders.last.get()[0]
        return Scene(own, models, optimizers, loss.item() / scale, batch, self._names_gpu, scale)

    def _scale(self) -> float:
        """By which a GradScaler has multiplied the loss."""
        losses = self._scaler.losses
        scaler = losses.scaler() if losses.scaler is not None and SCALED in losses.kinds else None
        return float(scaler.get_scale()) if scaler is not None else 1.0


# `torch-debugger doctor`: a script's first backward handed to the trials, after which the script ends.
class Preflights:
    """Hears of backwards; the first one is the last."""

    def __init__(self, backward: Backward, scenes: Scenes, settings: Settings) -> None:
        self.watch = backward.watch
        self.scenes = scenes
        self.minimal = settings.minimal  # where to write the minimal case; empty: nowhere
        self.tell: Tell = lambda step, loss: None  # how far a trial is
        self.tell_done: Callable[[int], None] = lambda trials: None
        self.leave: Callable[[], None] = sys.exit
        backward.on_look.append(self.see_backward)

    def see_backward(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if in_fork():
            return
        state = self.scenes.at_backward(loss)
        with self.watch.asleep(), torch._C._EnableTorchFunction():
            self.watch.guard.contain("pre-flight", self._try, state, frame)
        self.watch.stopping = True
        self.leave()

    def _try(self, state: FirstBackward, frame: FrameType | None) -> None:
        from torch_debugger.trials.first_step import case_at_backward
        from torch_debugger.trials.nan_in_step import can_fork
        from torch_debugger.trials.preflight import Trials, describe_case, text_apart, trial_apart
        from torch_debugger.trials.preflight_case import NotPossibleError

        forks = can_fork(list(state.models.values()))
        try:
            case, way = case_at_backward(state, text_apart if forks else lambda task: task())
        except NotPossibleError as reason:
            self.watch.notice(str(reason))
            return
        site = place_of(frame)
        self.watch.emit(describe_case(case, state.loss, assignment_before(site, loss_name(site)) or site))
        # without forks in the training's own process, which ends after the trials
        results = Trials(case, self.tell).results(trial_apart if forks else lambda name, trial: trial())
        for done, result in enumerate(results, 1):
            self.watch.emit(result)
            self.tell_done(done)
        if self.minimal:
            self._write_minimal(case, way)

    def _write_minimal(self, case: Case, way: LineRun | OwnLoss | None) -> None:
        from torch_debugger.trials.first_step import OwnLoss
        from torch_debugger.trials.minimal_example import write_minimal
        from torch_debugger.trials.preflight_case import NotPossibleError

        try:
            if way is None or isinstance(way, OwnLoss) or case.no_inputs:
                raise NotPossibleError("The minimal case was not written: the step's lines cannot be run alone.")
            self.watch.notice(write_minimal(way.lines, way.begin, case.samples, Path(self.minimal)))
        except NotPossibleError as reason:
            self.watch.notice(str(reason))


# `torch-debugger rehearse`: a script's first whole training step handed over, after which the script ends.
class StepRehearsals:
    """Hears of backwards, and of the optimizer's step that follows them, which is not made."""

    def __init__(self, backward: Backward, scenes: Scenes, settings: Settings) -> None:
        self.watch = backward.watch
        self.scenes = scenes
        self.settings = settings
        self.tell_done: Callable[[int], None] = lambda parts: None
        self.leave: Callable[[], None] = sys.exit
        self._backward_state: FirstBackward | None = None  # of the last backward
        self._backwards = 0
        self._stepping = False
        backward.on_look.append(self.see_backward)
        register_optimizer_step_pre_hook(self.see_step)  # for good: the script ends by it

    def see_backward(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if in_fork():
            return
        self._backward_state = self.scenes.at_backward(loss)
        self._backwards += 1
        by_hand = self._backwards > 1 and not self._backward_state.optimizers
        if self._stepping or by_hand:  # inside of step(closure); or no optimizer will ever step
            self._end()

    def see_step(self, optimizer: Optimizer, arguments: Any, keywords: Any) -> None:
        if in_fork() or self.watch.stopping:
            return
        self._stepping = True
        if self._backward_state is not None:
            self._end()

    def _end(self) -> None:
        self.tell_done(0)
        with self.watch.asleep(), torch._C._EnableTorchFunction():
            self.watch.guard.contain("rehearsal", self._rehearse)
        self.watch.stopping = True
        self.leave()

    def _rehearse(self) -> None:
        from torch_debugger.trials.nan_in_step import can_fork
        from torch_debugger.trials.preflight_case import NotPossibleError
        from torch_debugger.trials.step_rehearsal import FailedError, RehearsalSettings
        from torch_debugger.trials.step_rehearsal import StepRehearser as Conduct
        from torch_debugger.trials.step_to_rehearse import step_at_backward

        assert self._backward_state is not None
        if not can_fork(list(self._backward_state.models.values())):
            self.watch.notice("The model is on a GPU already: run the script without one (CUDA_VISIBLE_DEVICES=).")
            return
        settings = self.settings
        wanted = RehearsalSettings(settings.rehearsed_gpu, settings.rehearsed_batch, settings.rehearsed_dtype)
        try:
            step, case = step_at_backward(self._backward_state, self._accumulated())
            found = Conduct(step, case.call, wanted, self.tell_done).rehearsed()
            others = tuple(name for name in self._backward_state.models if name not in step.models)
            self.watch.emit(dataclasses.replace(found, others=others))
        except FailedError as error:
            self.watch.notice(f"The step cannot be made again: {error}")
        except (NotPossibleError, UsageError) as reason:
            self.watch.notice(str(reason))

    def _accumulated(self) -> int:
        """Backwards before the optimizer steps; by hand, or inside of a closure, one."""
        by_optimizer = self._backward_state is not None and bool(self._backward_state.optimizers)
        return self._backwards if by_optimizer else 1
