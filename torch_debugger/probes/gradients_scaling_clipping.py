"""GradScaler: its scale, the steps it leaves out, and gradients used while they are still multiplied.

Steps that it leaves out fire no optimizer hook, yet they are steps. The scale lives on the device and is
read some steps late from there. How gradients are used is looked at on deep steps only.
"""

from __future__ import annotations

import functools
import inspect
import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import utils
from torch.optim import Optimizer

from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.optimizers_known import TrackedOptimizer
from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import ClipFact, Place, ScalerMisuse
from torch_debugger.source.frames import place_of, user_frame
from torch_debugger.source.variables import name_of
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.summary import norms
from torch_debugger.system.tracebacks import hidden_in_tracebacks


class Scaler(Probe):
    name = "grad scaler"
    TOLD = 3  # of each misuse

    def __init__(self, watch: Watch, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self.losses = ScaledLosses()
        self.optimizers = optimizers
        self._stepping = False  # inside GradScaler.step
        self._backward = Place()
        self._reports: dict[str, int] = {}

    def install(self, patches: Patches) -> None:
        patches.replace(torch.amp.GradScaler, "scale", self._around_scale)
        patches.replace(torch.amp.GradScaler, "step", self._around_step)
        self.optimizers.before_update.append(self._before_update)

    def begin_step(self, depth: int) -> None:
        self.losses.restart()

    def cut_short(self) -> None:
        """A loss that has been scaled is told unscaled whatever else is left out."""

    def see_backward(self, loss: torch.Tensor, place: Place) -> torch.Tensor:
        """The loss as it was before it was scaled."""
        self._backward = place
        return self.losses.meet(loss)

    # Scaling

    def _around_scale(self, original: Any) -> Any:
        @functools.wraps(original)
        def scale(scaler: Any, outputs: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(scaler, outputs)
            with hidden_in_tracebacks:
                result = original(scaler, outputs)
            if result is not outputs and isinstance(result, torch.Tensor):
                self.watch.probe(self.name, self.losses.made, scaler, outputs, result)
            return result

        return scale

    # Stepping

    def _around_step(self, original: Any) -> Any:
        @functools.wraps(original)
        def step(scaler: Any, optimizer: Any, *arguments: Any, **keywords: Any) -> Any:
            number, before = self.watch.step, self.watch.clock.optimizer_steps
            self.watch.probe(self.name, self._look, scaler, optimizer)
            self._stepping = True
            try:
                with hidden_in_tracebacks:
                    result = original(scaler, optimizer, *arguments, **keywords)
            finally:
                self._stepping = False
            if self.watch.active and self.watch.clock.optimizer_steps == before:
                self._skipped(scaler, optimizer)
            else:
                self.watch.probe(self.name, self._ask_device, scaler, optimizer, number)
            return result

        return step

    def _look(self, scaler: Any, optimizer: Any) -> None:
        if self.watch.depth and scaler.is_enabled():
            self._tell_scale(scaler)
            if self.watch.depth == DEEP and self.losses.kinds == {PLAIN}:
                self.tell("not scaled", scaler, self.name_of(optimizer), self._backward)

    def _tell_scale(self, scaler: Any) -> None:
        step, scale = self.watch.step, scaler._scale
        if scale is not None:
            self.watch.transfer.send(
                scale.clone().reshape(1), lambda found: self.watch.say(step, {"scaler/scale": float(found[0])})
            )

    def _skipped(self, scaler: Any, optimizer: Any) -> None:
        if self.watch.probe(self.name, self._count_skipped, scaler, optimizer):
            self.watch.end_step()

    def _count_skipped(self, scaler: Any, optimizer: Any) -> bool:
        if not self.watch.depth:
            self._tell_scale(scaler)
        self.watch.scalars["scaler/skipped"] = 1.0
        self.watch.governor.request(2)
        return self.watch.clock.skipped_step(id(optimizer))

    def _ask_device(self, scaler: Any, optimizer: Any, step: int) -> None:
        """Fused optimizers step in any case, and leave out the update on the device."""
        if not getattr(optimizer, "_step_supports_amp_scaling", False) or not scaler.is_enabled():
            return

        def deliver(found: Any) -> None:
            if found[0]:
                self.watch.say(step, {"scaler/skipped": 1.0})

        found = [*scaler._per_optimizer_states[id(optimizer)]["found_inf_per_device"].values()]
        if found:
            self.watch.transfer.send(found[0].reshape(1), deliver)

    def _before_update(self, tracked: TrackedOptimizer, optimizer: Optimizer) -> None:
        """Told on deep steps."""
        if not self._stepping:
            self.watch.probe(self.name, self._stepped_alone, tracked, optimizer)

    def _stepped_alone(self, tracked: TrackedOptimizer, optimizer: Optimizer) -> None:
        """A step without the scaler that made the gradients so large."""
        scaler = self.scaler_of(optimizer)
        if scaler is not None:
            self.tell("stepped", scaler, tracked.name, place_of(user_frame(2)))

    # Gradients that are still scaled

    def scaler_of(self, optimizer: Optimizer) -> Any:
        """The scaler whose scale is still in this optimizer's gradients; None where that is not sure."""
        scaler = self.losses.scaler() if self.losses.scaler is not None else None
        if scaler is None or self.losses.kinds != {SCALED}:
            return None
        state = scaler._per_optimizer_states.get(id(optimizer))
        is_ready = state is None or state["stage"].name == "READY"
        has_gradients = any(p.grad is not None for group in optimizer.param_groups for p in group["params"])
        return scaler if is_ready and has_gradients else None

    def tell(
        self, fault: str, scaler: Any, optimizer: str, place: Place, limit: float = math.nan, norm: Any = None
    ) -> None:
        self._reports[fault] = self._reports.get(fault, 0) + 1
        if self._reports[fault] > self.TOLD or scaler._scale is None:
            return
        step, scale = self.watch.step, scaler._scale.clone().reshape(1)
        found = norm.detach().float().reshape(1) if isinstance(norm, torch.Tensor) else scale.new_tensor([math.nan])

        name = name_of(scaler, user_frame(2)) or "scaler"

        def deliver(numbers: Any) -> None:
            scale, norm = (float(number) for number in numbers)
            self.watch.emit(ScalerMisuse(step, fault, optimizer, place, scale, limit, norm, name))

        self.watch.transfer.send(torch.cat((scale, found.to(scale.device))), deliver)

    def name_of(self, optimizer: Any) -> str:
        tracked = self.optimizers.held.get(id(optimizer))
        return (tracked.name if tracked else "") or name_of(optimizer, user_frame(2)) or "optimizer"


# Which losses a GradScaler has multiplied, and what they were before.
#
# A backward pass is `scaled` when it begins at what `scaler.scale` returned, `plain` when it begins at what was given
# to it or when nothing was scaled, and `unsure` otherwise (the sum of two scaled losses, say).
SCALED, PLAIN, UNSURE = "scaled", "plain", "unsure"


@dataclass(frozen=True)
class ScaledLoss:
    scaler: weakref.ref[Any]
    given: weakref.ref[torch.Tensor]
    made: weakref.ref[torch.Tensor]
    value: torch.Tensor | None  # of what was given, without its graph; None for more than one number


class ScaledLosses:
    LIMIT = 16  # losses scaled between two updates

    def __init__(self) -> None:
        self.kinds: set[str] = set()  # of the backward passes since the step began
        self.scaler: weakref.ref[Any] | None = None  # the last one that scaled a loss
        self._waiting: list[ScaledLoss] = []  # for their backward pass

    def restart(self) -> None:
        """Another step begins."""
        self.kinds = set()
        self._waiting = []

    def made(self, scaler: Any, unscaled: torch.Tensor, made: torch.Tensor) -> None:
        value = unscaled.detach() if unscaled.numel() == 1 else None
        self.scaler = weakref.ref(scaler)
        self._waiting.append(ScaledLoss(self.scaler, weakref.ref(unscaled), weakref.ref(made), value))
        del self._waiting[: -self.LIMIT]

    def meet(self, loss: torch.Tensor) -> torch.Tensor:
        """A backward pass begins here; the loss as it was before it was scaled comes back."""
        for scaled in self._waiting:
            if scaled.made() is loss:
                self._waiting.remove(scaled)
                self.kinds.add(SCALED)
                return loss if scaled.value is None else scaled.value
        plain = not self._waiting or any(scaled.given() is loss for scaled in self._waiting)
        self.kinds.add(PLAIN if plain else UNSURE)
        return loss


# Gradients that are clipped: by how much, too late, or while a GradScaler's scale is still in them.
#
# Which gradients a call of `clip_grad_norm_` has changed shows in their version counters: its arguments may be a
# generator, which can be read only once and is the user's.
_LIMITS = {"clip_grad_norm_": "max_norm", "clip_grad_value_": "clip_value"}
Versions = list[tuple[TrackedOptimizer, Optimizer, int, torch.Tensor]]  # and of its gradients: all versions, the norm


class Clipping(Probe):
    name = "gradient clipping"

    def __init__(self, watch: Watch, scaler: Scaler) -> None:
        super().__init__(watch)
        self.scaler = scaler
        self._looked_at = self._next = 1  # steps

    def install(self, patches: Patches) -> None:
        for name, limit in _LIMITS.items():
            ours = self._around(getattr(utils.clip_grad, name), limit)
            for owner in (utils.clip_grad, utils):  # one function under both names, as before: it can be pickled
                patches.replace(owner, name, functools.partial(_instead, ours))

    def _around(self, original: Callable[..., Any], limit: str) -> Callable[..., Any]:
        takes = inspect.signature(original)

        @functools.wraps(original)
        def clip(*arguments: Any, **keywords: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(*arguments, **keywords)
            step, before = self.watch.step, None
            if step >= self._next:
                self._looked_at, self._next = step, step + max(1, step // 20)
            if step == self._looked_at or self.watch.depth == DEEP:
                before = self.watch.probe(self.name, self._versions, limit)
            with hidden_in_tracebacks:
                result = original(*arguments, **keywords)
            if before:
                self.watch.probe(self.name, self._compare, before, takes, limit, arguments, keywords, result)
            return result

        return clip

    def _versions(self, limit: str) -> Versions:
        """clip_grad_value_ does not tell the norm it found."""
        norm_of = _norm if limit == "clip_value" else _unknown
        live = self.scaler.optimizers.live()
        return [(tracked, optimizer, _version(optimizer), norm_of(optimizer)) for tracked, optimizer in live]

    def _compare(
        self, before: Versions, takes: inspect.Signature, limit: str, arguments: Any, keywords: Any, result: Any
    ) -> None:
        argument = takes.bind(*arguments, **keywords).arguments.get(limit)
        place, step = place_of(user_frame(2)), self.watch.step
        value = float(argument) if isinstance(argument, int | float) else math.nan
        for tracked, optimizer, version, norm in before:
            if _version(optimizer) == version:
                continue
            scaler, name = self.scaler.scaler_of(optimizer), self.scaler.name_of(optimizer)
            if scaler is not None and self.watch.depth == DEEP:
                self.scaler.tell("clipped", scaler, name, place, value, result)
            elif scaler is None:
                found = result.detach().float() if isinstance(result, torch.Tensor) else norm
                left = _norm(optimizer) if limit == "clip_value" else torch.full_like(found, math.nan)
                late = tracked.steps > 0 and self.watch.clock.backwards == tracked.backwards

                def deliver(both: Any, name: str = name, late: bool = late) -> None:
                    self.watch.emit(ClipFact(step, name, place, value, float(both[0]), late, float(both[1])))

                self.watch.transfer.send(torch.stack((found, left)), deliver)


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
