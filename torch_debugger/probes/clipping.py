"""Gradients clipped while a GradScaler's scale is still in them.

Which gradients a call of `clip_grad_norm_` has changed shows in their version counters: its arguments may
be a generator, which can be read only once and is the user's.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import utils
from torch.optim import Optimizer

from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.scaler import Scaler
from torch_debugger.probes.watch import Probe, Watch

_LIMITS = {"clip_grad_norm_": "max_norm", "clip_grad_value_": "clip_value"}
Versions = list[tuple[Any, Optimizer, int]]  # scaler, optimizer, sum of its gradients' versions


class Clipping(Probe):
    name = "gradient clipping"

    def __init__(self, watch: Watch, scaler: Scaler) -> None:
        super().__init__(watch)
        self.scaler = scaler

    def install(self, patches: Patches) -> None:
        for name, limit in _LIMITS.items():
            ours = self._around(getattr(utils.clip_grad, name), limit)
            for owner in (
                utils.clip_grad,
                utils,
            ):  # one function under both names, as before: it can be pickled
                patches.replace(owner, name, functools.partial(_instead, ours))

    def _around(self, original: Callable[..., Any], limit: str) -> Callable[..., Any]:
        takes = inspect.signature(original)

        @functools.wraps(original)
        def clip(*arguments: Any, **keywords: Any) -> Any:
            if self.watch.depth != DEEP or not self.scaler.losses.kinds or torch.compiler.is_compiling():
                return original(*arguments, **keywords)
            before = self.watch.probe(self.name, self._versions)
            result = original(*arguments, **keywords)
            if before:
                self.watch.probe(self.name, self._compare, before, takes, limit, arguments, keywords, result)
            return result

        return clip

    def _versions(self) -> Versions:
        scaled = [(self.scaler.scaler_of(one), one) for _, one in self.scaler.optimizers.live()]
        return [(scaler, optimizer, _version(optimizer)) for scaler, optimizer in scaled if scaler is not None]

    def _compare(
        self, before: Versions, takes: inspect.Signature, limit: str, arguments: Any, keywords: Any, result: Any
    ) -> None:
        given = takes.bind(*arguments, **keywords).arguments.get(limit)
        place = place_of(user_frame(2))
        value = float(given) if isinstance(given, int | float) else math.nan
        for scaler, optimizer, version in before:
            if _version(optimizer) != version:
                self.scaler.tell("clipped", scaler, self.scaler.name_of(optimizer), place, value, result)


def _instead(ours: Callable[..., Any], original: Any) -> Callable[..., Any]:
    return ours


def _version(optimizer: Optimizer) -> int:
    gradients = [p.grad for group in optimizer.param_groups for p in group["params"]]
    return sum(gradient._version for gradient in gradients if gradient is not None)
