"""`torch-debugger rehearse`: a script's first whole training step handed over, after which the script ends."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

from torch_debugger.anatomy.forked import in_fork
from torch_debugger.errors import UsageError
from torch_debugger.probes.backward import Backward
from torch_debugger.scenes import Scenes
from torch_debugger.settings import Settings

if TYPE_CHECKING:
    from torch_debugger.trials.preflight.scene import Scene


class StepRehearsals:
    """Hears of backwards, and of the optimizer's step that follows them, which is not made."""

    def __init__(self, backward: Backward, scenes: Scenes, settings: Settings) -> None:
        self.watch = backward.watch
        self.scenes = scenes
        self.settings = settings
        self.tell_done: Callable[[int], None] = lambda parts: None
        self.leave: Callable[[], None] = sys.exit
        self._scene: Scene | None = None  # of the last backward
        self._backwards = 0
        self._stepping = False
        backward.on_look.append(self.see_backward)
        register_optimizer_step_pre_hook(self.see_step)  # for good: the script ends by it

    def see_backward(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if in_fork():
            return
        self._scene = self.scenes.at_backward(loss)
        self._backwards += 1
        by_hand = self._backwards > 1 and not self._scene.optimizers
        if self._stepping or by_hand:  # inside of step(closure); or no optimizer will ever step
            self._end()

    def see_step(self, optimizer: Optimizer, arguments: Any, keywords: Any) -> None:
        if in_fork() or self.watch.stopping:
            return
        self._stepping = True
        if self._scene is not None:
            self._end()

    def _end(self) -> None:
        self.tell_done(0)
        with self.watch.asleep(), torch._C._EnableTorchFunction():
            self.watch.guard.contain("rehearsal", self._rehearse)
        self.watch.stopping = True
        self.leave()

    def _rehearse(self) -> None:
        from torch_debugger.trials.hunt.step import can_fork
        from torch_debugger.trials.preflight.case import NotPossibleError
        from torch_debugger.trials.step_rehearsal.apart import FailedError
        from torch_debugger.trials.step_rehearsal.conduct import Conduct, Wish
        from torch_debugger.trials.step_rehearsal.from_scene import step_of_scene

        assert self._scene is not None
        if not can_fork(list(self._scene.models.values())):
            self.watch.notice(
                "The model is on a GPU already: run the script without one (CUDA_VISIBLE_DEVICES=)."
            )
            return
        settings = self.settings
        wish = Wish(settings.rehearsed_gpu, settings.rehearsed_batch, settings.rehearsed_dtype)
        try:
            step, case = step_of_scene(self._scene, self._accumulated())
            found = Conduct(step, case.call, wish, self.tell_done).rehearsed()
            others = tuple(name for name in self._scene.models if name not in step.models)
            self.watch.emit(dataclasses.replace(found, others=others))
        except FailedError as error:
            self.watch.notice(f"The step cannot be made again: {error}")
        except (NotPossibleError, UsageError) as reason:
            self.watch.notice(str(reason))

    def _accumulated(self) -> int:
        """Backwards before the optimizer steps; by hand, or inside of a closure, one."""
        by_optimizer = self._scene is not None and bool(self._scene.optimizers)
        return self._backwards if by_optimizer else 1
