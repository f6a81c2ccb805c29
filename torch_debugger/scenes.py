"""A script's step at its backward: the frames, models, optimizers and batch with which it can be made again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from torch_debugger.anatomy.frames import frames
from torch_debugger.anatomy.moments import moment_of
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.probes.backward import Backward
from torch_debugger.probes.loaders import Loaders
from torch_debugger.probes.scaled_losses import SCALED

if TYPE_CHECKING:
    from torch_debugger.trials.preflight.scene import Scene

_FRAMES = 4  # of the user's, from the innermost out


class Scenes:
    def __init__(self, backward: Backward, loaders: Loaders, names_gpu: bool) -> None:
        self._roots = backward.roots
        self._optimizers = backward.optimizers
        self._scaler = backward.scaler
        self._loaders = loaders
        self._names_gpu = names_gpu  # the script does, somewhere

    def at_backward(self, loss: torch.Tensor) -> Scene:
        """To be asked while the script is inside backward()."""
        from torch_debugger.trials.hunt.model import Model
        from torch_debugger.trials.preflight.scene import Scene

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
