"""TD718: an update that goes through many parameters one after the other, though one kernel could do it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import LEAST_GAIN, expected, milliseconds
from torch_debugger.checks.keyword_argument import with_keyword
from torch_debugger.checks.state import RunState
from torch_debugger.records import CostFact, Finding, OptimizerFact, Record, TracedTraining


class ParametersUpdatedOneByOne(Check):
    """The update takes a large part of each step, because it treats every parameter by itself.

    Symptom:
        Steps are short and most of each is the same for any batch size. A profile shows hundreds of tiny ops
        in `optimizer.step()`.
    Evidence:
        The share of `optimizer.step()` in the time of the steps, the number of parameters it goes through, and
        that it is an Adam, AdamW or SGD with momentum which was not given `fused=True` on the CPU.
    Fix:
        `fused=True`: one kernel updates all parameters and reads each of them once.
    Known limits:
        The saving is what was measured on models of 4 to 82 parameters on one core, taken at its lower end. A
        fused update rounds differently, in the last bits. On CUDA nothing is said: torch takes lists there.
    """

    id = "TD718"
    name = "parameters-updated-one-by-one"
    title = "the update treats every parameter by itself"
    reads = (CostFact, TracedTraining)

    # Share of an update that the fused kernel saved: at least 0.43 with few large parameters, 0.73 to 0.80 with
    # 38 to 82 small ones for Adam; 0.30 and 0.56 to 0.68 for SGD with momentum.
    saved: ClassVar[dict[str, tuple[float, float]]] = {
        "Adam": (0.4, 0.65),
        "AdamW": (0.4, 0.65),
        "SGD": (0.25, 0.5),
    }
    many_parameters = 30
    smallest_share = 0.2  # of the step's time
    # An update of a few small parameters is over sooner than anybody waits for.
    least_update_s = 0.001
    large = 1_000_000  # numbers, in all of its parameters
    # In torch since 2.4 on the CPU.
    oldest_torch = (2, 4)

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        return self._judge(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return self._judge(state)

    def _judge(self, state: RunState) -> Iterable[Finding]:
        split, share = state.split, state.split.share("optimizer")
        optimizer = self._largest(state)
        if optimizer is None or not split.is_enough() or share < self.smallest_share or not self._is_new(state):
            return
        count = len(optimizer.parameters)
        of_few, of_many = self.saved[optimizer.kind]
        is_many = count >= self.many_parameters
        if split.per_step_s("optimizer") < self.least_update_s or not (
            is_many or self._is_large(optimizer, state)
        ):
            return
        of_all = sum(len(each.parameters) for each in state.optimizers.values())
        gain = share * (of_many if is_many else of_few) * count / of_all
        if gain >= LEAST_GAIN:
            yield self._found(optimizer, gain, state)

    def _largest(self, state: RunState) -> OptimizerFact | None:
        fitting = [each for each in state.optimizers.values() if self._is_slow(each)]
        return max(fitting, key=lambda each: len(each.parameters), default=None)

    def _is_slow(self, optimizer: OptimizerFact) -> bool:
        plain_sgd = optimizer.kind == "SGD" and not any(group.get("momentum") for group in optimizer.groups)
        return optimizer.form == "one by one" and optimizer.kind in self.saved and not plain_sgd

    def _is_large(self, optimizer: OptimizerFact, state: RunState) -> bool:
        known = {
            each.path: math.prod(each.shape) for model in state.models.values() for each in model.parameters
        }
        return sum(known.get(name, 0) for name in optimizer.parameters) >= self.large

    def _is_new(self, state: RunState) -> bool:
        """Whether this torch has the fused update on the device of the model."""
        if state.speed is None or state.speed.device != "cpu":
            return False
        if state.run is None:
            return state.split.settled  # a trace does not say; it is hardly one of an older torch
        major, minor = state.run.torch.split(".")[:2]
        return (int(major), int(minor)) >= self.oldest_torch

    def _found(self, optimizer: OptimizerFact, gain: float, state: RunState) -> Finding:
        split, count = state.split, len(optimizer.parameters)
        update_s, step_s = split.per_step_s("optimizer"), split.total_s / split.steps
        edit = with_keyword(optimizer.place, optimizer.kind, "fused", "True")
        where = f"Write `{edit.after}`" if edit else f"Give `fused=True` to `{optimizer.kind}(...)`"
        return self.finding(
            severity="note",  # most scripts leave this out, and small models on a CPU are healthy without it
            confidence=0.9,
            message=(
                f"The update of `{optimizer.name}` takes {milliseconds(update_s)} of the "
                f"{milliseconds(step_s)} of each step: it goes through {count} parameters one by one, "
                "with several ops for each."
            ),
            why=(
                f"Without `fused=True`, {optimizer.kind} on the CPU runs several ops for every parameter, "
                "and each of them reads and writes the whole parameter anew."
            ),
            fix=f"{where}: one kernel then updates all {count} parameters. {expected(gain, step_s)}",
            where=optimizer.place,
            first_step=optimizer.step,
            last_step=state.step,
            evidence={
                "expected_gain": gain,
                "optimizer_s": update_s,
                "step_s": step_s,
                "parameters": float(count),
            },
            edit=edit,
        )
