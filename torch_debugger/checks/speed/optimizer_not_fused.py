"""TD739: an update on the GPU in many kernels where one would do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import milliseconds, severity_of
from torch_debugger.checks.keyword_argument import with_keyword
from torch_debugger.checks.state import RunState
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
        optimizers = [each for each in state.optimizers.values() if self._can_be_fused(each)]
        if len(state.optimizers) != 1 or not optimizers:
            return
        gain = self.saved[optimizers[0].form] * state.split.share("optimizer")
        severity = severity_of(gain)
        if severity is not None:
            self._reported = True
            yield self._told(state, optimizers[0], severity, gain)

    def _can_be_fused(self, optimizer: OptimizerFact) -> bool:
        return optimizer.kind in self.kinds and optimizer.form in self.saved

    def _told(self, state: RunState, optimizer: OptimizerFact, severity: str, gain: float) -> Finding:
        update_s, step_s = state.split.per_step_s("optimizer"), state.split.total_s / state.split.steps
        edit = with_keyword(optimizer.place, optimizer.kind, "fused", "True")
        change = f"Write `{edit.after}`" if edit is not None else f"Give `{optimizer.kind}` `fused=True`"
        return self.finding(
            severity=severity,
            confidence=0.8,
            message=(
                f"`{optimizer.name}.step()` takes {milliseconds(update_s)} of the {milliseconds(step_s)} of "
                f"a step on the GPU ({100 * update_s / step_s:.0f} %), and {optimizer.kind} was not made "
                "with `fused=True`."
            ),
            why=(
                "Without it an update is a dozen kernels, each of which reads and writes all parameters or "
                "their averages once more. Fused, it is one that does everything on the way."
            ),
            fix=f"{change}. That saves about {100 * gain:.0f} % of a step.",
            where=optimizer.place,
            first_step=1,
            last_step=state.step,
            evidence={"expected_gain": gain, "optimizer_s": update_s, "step_s": step_s},
            edit=edit,
        )
