"""Gradients that are clipped: by how much, too late, or while a GradScaler's scale is still in them.

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
from torch_debugger.probes.held import Held
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.scaler import Scaler
from torch_debugger.probes.watch import Watch
from torch_debugger.records import ClipFact, Place
from torch_debugger.stats.summary import norms
from torch_debugger.stats.unseen import no_grad
from torch_debugger.tracebacks import hidden_in_tracebacks

_LIMITS = {"clip_grad_norm_": "max_norm", "clip_grad_value_": "clip_value"}
Versions = list[tuple[Held, Optimizer, int, torch.Tensor]]  # and of its gradients: all versions, the norm


class Clipping(Probe):
    name = "gradient clipping"

    def __init__(self, watch: Watch, scaler: Scaler) -> None:
        super().__init__(watch)
        self.scaler = scaler
        self._looked_at = self._next = 1  # steps

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
            if torch.compiler.is_compiling():
                return original(*arguments, **keywords)
            before = self.watch.probe(self.name, self._versions, limit) if self._is_curious() else None
            with hidden_in_tracebacks:
                result = original(*arguments, **keywords)
            if before:
                self.watch.probe(self.name, self._compare, before, takes, limit, arguments, keywords, result)
            return result

        return clip

    def _is_curious(self) -> bool:
        step = self.watch.step
        if step >= self._next:
            self._looked_at, self._next = step, step + max(1, step // 20)
        return step == self._looked_at or self.watch.depth == DEEP

    def _versions(self, limit: str) -> Versions:
        """clip_grad_value_ does not tell the norm it found."""
        norm_of = _norm if limit == "clip_value" else _unknown
        live = self.scaler.optimizers.live()
        return [(held, optimizer, _version(optimizer), norm_of(optimizer)) for held, optimizer in live]

    def _compare(
        self, before: Versions, takes: inspect.Signature, limit: str, arguments: Any, keywords: Any, result: Any
    ) -> None:
        given = takes.bind(*arguments, **keywords).arguments.get(limit)
        place = place_of(user_frame(2))
        value = float(given) if isinstance(given, int | float) else math.nan
        for held, optimizer, version, norm in before:
            if _version(optimizer) == version:
                continue
            scaler = self.scaler.scaler_of(optimizer)
            if scaler is not None and self.watch.depth == DEEP:
                self.scaler.tell("clipped", scaler, self.scaler.name_of(optimizer), place, value, result)
            elif scaler is None:
                found = result.detach().float() if isinstance(result, torch.Tensor) else norm
                left = _norm(optimizer) if limit == "clip_value" else torch.full_like(found, math.nan)
                self._tell(held, optimizer, place, value, torch.stack((found, left)))

    def _tell(self, held: Held, optimizer: Optimizer, place: Place, limit: float, found: torch.Tensor) -> None:
        step, name = self.watch.step, self.scaler.name_of(optimizer)
        late = held.steps > 0 and self.watch.clock.backwards == held.backwards
        self.watch.transfer.send(
            found,
            lambda both: self.watch.emit(
                ClipFact(step, name, place, limit, float(both[0]), late, float(both[1]))
            ),
        )


def _instead(ours: Callable[..., Any], original: Any) -> Callable[..., Any]:
    return ours


@no_grad()
def _norm(optimizer: Optimizer) -> torch.Tensor:
    gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    dense = [gradient for gradient in gradients if gradient.layout is torch.strided]
    return norms(dense).norm().float() if dense else _unknown(optimizer)


def _unknown(optimizer: Optimizer) -> torch.Tensor:
    return torch.tensor(math.nan)


def _version(optimizer: Optimizer) -> int:
    gradients = [p.grad for group in optimizer.param_groups for p in group["params"]]
    return sum(gradient._version for gradient in gradients if gradient is not None)
