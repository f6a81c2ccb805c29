"""Optimizer steps and zero_grad() in more kernels, or writes, than needed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import ClassVar

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.call_edits import edit_line, with_keyword
from torch_debugger.checks.step_time import (
    LEAST_GAIN,
    Advice,
    DearLine,
    LineCostCheck,
    StepSample,
    expected,
    milliseconds,
    severity_of,
)
from torch_debugger.records import CostFact, Finding, OptimizerFact, Record, TracedTraining


class OptimizerNotFused(Check):
    """The update takes a large part of each step on the GPU, and torch has one kernel for it.

    Symptom:
        A model with many parameters and little to compute spends much of each step in `optimizer.step()`.
    Evidence:
        The share of `optimizer.step()` in the time of a step, measured on the device; the optimizer is Adam,
        AdamW or SGD on a CUDA device and was not made with `fused=True`.
    Fix:
        Make the optimizer with `fused=True`: `torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)`.
    Known limits:
        What is saved depends on sizes: a little less than was measured with a few large parameters is
        claimed. With several optimizers nothing is said, because their times are not told apart.
    """

    id = "TD739"
    name = "optimizer-not-fused"
    title = "the update runs in many kernels on the GPU"
    reads = (CostFact, TracedTraining)

    kinds = ("Adam", "AdamW", "SGD")  # which have a fused form on CUDA
    # Of the update, by the form it has. On an H200, AdamW with 12 parameters of 4096 x 4096: 0.63 and 0.60.
    saved: ClassVar = {"in lists": 0.55, "one by one": 0.6}

    def __init__(self) -> None:
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if not self._reported:
            yield from self._judge(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        if self._reported:
            yield from self._judge(state)

    def _judge(self, state: RunState) -> Iterable[Finding]:
        if state.speed is None or state.speed.device != "cuda" or not state.split.is_enough():
            return
        optimizer = next(iter(state.optimizers.values())) if len(state.optimizers) == 1 else None
        if optimizer is None or optimizer.kind not in self.kinds or optimizer.form not in self.saved:
            return
        gain = self.saved[optimizer.form] * state.split.share("optimizer")
        severity = severity_of(gain)
        if severity is not None:
            self._reported = True
            update_s, step_s = state.split.per_step_s("optimizer"), state.split.total_s / state.split.steps
            edit = with_keyword(optimizer.place, optimizer.kind, "fused", "True")
            change = f"Write `{edit.after}`" if edit is not None else f"Give `{optimizer.kind}` `fused=True`"
            yield self.finding(
                severity=severity,
                confidence=0.8,
                message=f"`{optimizer.name}.step()` takes {milliseconds(update_s)} of the {milliseconds(step_s)} of a "
                f"step on the GPU ({100 * update_s / step_s:.0f} %), and {optimizer.kind} was not made with "
                "`fused=True`.",
                why="Without it an update is a dozen kernels, each of which reads and writes all parameters or "
                "their averages once more. Fused, it is one that does everything on the way.",
                fix=f"{change}. That saves about {100 * gain:.0f} % of a step.",
                where=optimizer.place,
                steps=(1, state.step),
                evidence={"expected_gain": gain, "optimizer_s": update_s, "step_s": step_s},
                edit=edit,
            )


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
    saved: ClassVar[dict[str, tuple[float, float]]] = {"Adam": (0.4, 0.65), "AdamW": (0.4, 0.65), "SGD": (0.25, 0.5)}
    many_parameters = 30
    smallest_share = 0.2  # of the step's time
    # An update of a few small parameters is over sooner than anybody waits for.
    least_update_s = 0.001
    large = 1_000_000  # numbers, in all of its parameters
    # In torch since 2.4 on the CPU.
    oldest_torch = (2, 4)

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        return self.finish(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        split, share = state.split, state.split.share("optimizer")
        slow = [each for each in state.optimizers.values() if self._is_slow(each)]
        optimizer = max(slow, key=lambda each: len(each.parameters), default=None)
        if optimizer is None or not split.is_enough() or share < self.smallest_share or not self._is_new(state):
            return
        count = len(optimizer.parameters)
        of_few, of_many = self.saved[optimizer.kind]
        is_many = count >= self.many_parameters
        if split.per_step_s("optimizer") < self.least_update_s:
            return
        if not is_many:
            sizes = {each.path: math.prod(each.shape) for each in state.parameters}
            if sum(sizes.get(name, 0) for name in optimizer.parameters) < self.large:
                return
        of_all = sum(len(each.parameters) for each in state.optimizers.values())
        gain = share * (of_many if is_many else of_few) * count / of_all
        if gain >= LEAST_GAIN:
            yield self._found(optimizer, gain, state)

    def _is_slow(self, optimizer: OptimizerFact) -> bool:
        plain_sgd = optimizer.kind == "SGD" and not any(group.get("momentum") for group in optimizer.groups)
        return optimizer.form == "one by one" and optimizer.kind in self.saved and not plain_sgd

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
            message=f"The update of `{optimizer.name}` takes {milliseconds(update_s)} of the {milliseconds(step_s)} of "
            f"each step: it goes through {count} parameters one by one, with several ops for each.",
            why=f"Without `fused=True`, {optimizer.kind} on the CPU runs several ops for every parameter, "
            "and each of them reads and writes the whole parameter anew.",
            fix=f"{where}: one kernel then updates all {count} parameters. {expected(gain, step_s)}",
            where=optimizer.place,
            steps=(optimizer.step, state.step),
            evidence={"expected_gain": gain, "optimizer_s": update_s, "step_s": step_s, "parameters": float(count)},
            edit=edit,
        )


_KEEPS = re.compile(r",?\s*set_to_none\s*=\s*False")
_BY_HAND = re.compile(r"\.grad(\.data|\.detach\(\)|\.detach_\(\))?\.(zero_\(\)|fill_\(0(\.0)?\)|mul_\(0(\.0)?\))")


class GradientsZeroedNotDropped(LineCostCheck):
    """Gradients are filled with zeros in every step, and the backward adds to the zeros.

    Symptom:
        Steps of a model with large weights (embeddings, wide layers) take longer than its arithmetic explains,
        most of all with small batches.
    Evidence:
        The share of sampled stacks in `zero_grad(set_to_none=False)` or `p.grad.zero_()`, in every step. The
        backward then adds to every gradient where it could have stored its own: at least as long again.
    Fix:
        `optimizer.zero_grad()`: it lets the gradients go, and the next backward brings new ones.
    Known limits:
        Code that reads a gradient between `zero_grad()` and `backward()` finds None then. Said only where the
        saving is 5 % of a step or more: large weights and little arithmetic. In containers in which new memory
        is dear (measured in one: a step took 1.5 times as long), zeros may be the quicker way on a CPU.
    """

    id = "TD716"
    name = "gradients-zeroed-not-dropped"
    title = "gradients are filled with zeros instead of being let go"

    # The zeros, and the additions to them: 2.5 to 5 times as long as the zeros alone, where it was measured.
    saved = 2.5
    least_samples = 6
    is_loud = False  # the cost of the additions is an estimate

    def fits(self, sample: StepSample) -> bool:
        code = sample.place.code or ""
        return _KEEPS.search(code) is not None or _BY_HAND.search(code) is not None

    def advise(self, line: DearLine, state: RunState) -> Advice:
        code = line.place.code or ""
        edit = edit_line(line.place, _KEEPS.sub("", code).replace("(, ", "(")) if _KEEPS.search(code) else None
        by_hand = f"Call `{next(iter(state.optimizers), 'optimizer')}.zero_grad()` instead"
        return Advice(
            what="Filling gradients with zeros",
            why="Zeros are written over all gradients, and the backward reads them again to add to them. Where "
            "there is no gradient it stores its own, and neither is needed.",
            fix=(f"Write `{edit.after}`" if edit else by_hand) + ": it lets the gradients go.",
            edit=edit,
        )
