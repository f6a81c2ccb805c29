"""GradScaler: its scale, the steps it leaves out, and gradients used while they are still multiplied.

Steps that it leaves out fire no optimizer hook, yet they are steps. The scale lives on the device and is
read some steps late from there. How gradients are used is looked at on deep steps only.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
from torch.optim import Optimizer

from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.anatomy.naming import name_of
from torch_debugger.probes.held import Held
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.scaled_losses import PLAIN, SCALED, ScaledLosses
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, ScalerMisuse
from torch_debugger.tracebacks import hidden_in_tracebacks


class Scaler(Probe):
    name = "grad scaler"
    TOLD = 3  # of each misuse

    def __init__(self, watch: Watch, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self.losses = ScaledLosses()
        self.optimizers = optimizers
        self._stepping = False  # inside GradScaler.step
        self._backward = Place()
        self._told: dict[str, int] = {}

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
        found = [*scaler._per_optimizer_states[id(optimizer)]["found_inf_per_device"].values()]
        if found:
            self.watch.transfer.send(found[0].reshape(1), functools.partial(self._late_skip, step))

    def _late_skip(self, step: int, found: Any) -> None:
        if found[0]:
            self.watch.say(step, {"scaler/skipped": 1.0})

    def _before_update(self, held: Held, optimizer: Optimizer) -> None:
        """Told on deep steps."""
        if not self._stepping:
            self.watch.probe(self.name, self._stepped_alone, held, optimizer)

    def _stepped_alone(self, held: Held, optimizer: Optimizer) -> None:
        """A step without the scaler that made the gradients so large."""
        scaler = self.scaler_of(optimizer)
        if scaler is not None:
            self.tell("stepped", scaler, held.name, place_of(user_frame(2)))

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
        self._told[fault] = self._told.get(fault, 0) + 1
        if self._told[fault] > self.TOLD or scaler._scale is None:
            return
        step, scale = self.watch.step, scaler._scale.clone().reshape(1)
        found = (
            norm.detach().float().reshape(1) if isinstance(norm, torch.Tensor) else scale.new_tensor([math.nan])
        )

        name = name_of(scaler, user_frame(2)) or "scaler"

        def deliver(numbers: Any) -> None:
            scale, norm = (float(number) for number in numbers)
            self.watch.emit(ScalerMisuse(step, fault, optimizer, place, scale, limit, norm, name))

        self.watch.transfer.send(torch.cat((scale, found.to(scale.device))), deliver)

    def name_of(self, optimizer: Any) -> str:
        held = self.optimizers.held.get(id(optimizer))
        return (held.name if held else "") or name_of(optimizer, user_frame(2)) or "optimizer"
