"""The first NaN or Inf of a run: noticed where numbers pass by, traced on the spot.

On the CPU a loss is seen before its backward, so the step's inputs, random state and weights
are still those that made it: the forward is run again on them (by the replay that the session
hands in), and names the op that made something not finite out of finite operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.loss_variable import loss_name
from torch_debugger.anatomy.statements import assignment_before, last_call_before
from torch_debugger.probes.lossorigin import find_in_graph
from torch_debugger.probes.roots import Root, Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import NonFinite, Origin, Place

Replay = Callable[[Root, bool], Origin | None]  # (the root with its call, look for infinite slopes)


class NonFiniteHunt:
    def __init__(self, watch: Watch, roots: Roots, replay: Replay | None) -> None:
        self.watch = watch
        self.roots = roots
        self.replay = replay
        self.found: NonFinite | None = None

    def loss_is_not_finite(self, value: float, loss: torch.Tensor, site: Place, saved_hooks: bool) -> None:
        """Seen at backward, before anything has changed."""
        if self.found is not None:
            return
        wrong = self._wrong_parameters()
        origin = None if wrong else self._replay(slopes=False)
        replayed = origin is not None
        if origin is None and not wrong and loss.grad_fn is not None and not saved_hooks:
            origin = find_in_graph(loss.grad_fn, site)
        phase = "weights" if wrong else "unknown"
        self._tell("loss", value, self.watch.step, site, origin, phase, wrong, replayed)

    def loss_was_not_finite(self, value: float, site: Place, step: int) -> None:
        """Told by the device some steps late: the inputs are gone."""
        if self.found is None:
            self._tell("loss", value, step, site, None, "unknown", (), False)

    def gradient_is_not_finite(self, parameters: tuple[str, ...], site: Place, step: int) -> None:
        """Seen before the update: the loss was finite, its gradient is not."""
        if self.found is not None:
            return
        origin = self._replay(slopes=True) if step == self.watch.step else None
        module = origin.module if origin else _last_layer(parameters)
        origin = origin or Origin("backward", module, None, Place(), ())
        self._tell("gradient", math.nan, step, site, origin, "backward", parameters, origin.op is not None)

    def _replay(self, slopes: bool) -> Origin | None:
        if self.replay is None:
            return None
        for root, _ in self.roots.alive():
            if root.call is not None:
                found: Origin | None = self.watch.guard.call("replay", self.replay, root, slopes)
                if found is not None:
                    return found
        return None

    @torch.no_grad()
    def _wrong_parameters(self) -> tuple[str, ...]:
        wrong: list[str] = []
        for root, module in self.roots.alive():
            for name, parameter in module.named_parameters():
                if not nn.parameter.is_lazy(parameter) and not _is_finite(parameter):
                    wrong.append(f"{root.name}.{name}")
        return tuple(wrong)

    def _tell(
        self,
        what: str,
        value: float,
        step: int,
        site: Place,
        origin: Origin | None,
        phase: str,
        parameters: tuple[str, ...],
        replayed: bool,
    ) -> None:
        self.found = NonFinite(
            step=step,
            what=what,
            value=_word(value),
            module=origin.module if origin else None,
            phase=origin.phase if origin else phase,
            op=origin.op if origin else None,
            place=(origin.place if origin else None) or _best_line(origin, site),
            operands=origin.operands if origin else (),
            parameters=parameters,
            replayed=replayed,
            site=site,
        )
        self.watch.emit(self.found)


def _best_line(origin: Origin | None, site: Place) -> Place:
    """Without the op's own line: where the model is given bad data, else where the loss is computed."""
    if origin is not None and origin.phase == "input" and origin.module:
        found = last_call_before(site, (origin.module.rsplit(".", 1)[-1],))
    else:
        found = assignment_before(site, loss_name(site))
    return found or site


def _is_finite(parameter: torch.Tensor) -> bool:
    if not parameter.is_floating_point():
        return True
    return math.isfinite(float(parameter.detach().sum(dtype=torch.float64)))  # float16 overflows at 65504


def _last_layer(parameters: tuple[str, ...]) -> str | None:
    """Gradients flow backward: the last layer with a bad one is the first to have had it."""
    return parameters[-1].rsplit(".", 1)[0] if parameters else None


def _word(value: Any) -> str:
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"
