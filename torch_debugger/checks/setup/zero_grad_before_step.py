"""TD110: gradients are cleared after backward() and before the step that should use them."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import Streak, Streaks, call_at, line_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, Record, StepCycle


class ZeroGradBeforeStep(Check):
    """Gradients are cleared between backward() and the optimizer's step.

    Symptom:
        The loss stays where it began. Nothing is wrong with the data, the model or the learning rate.
    Evidence:
        On several sampled steps in a row a zero_grad() was called after the last backward() while gradients
        were there, and the optimizer's step then found none, or zeros only.
    Fix:
        Move `optimizer.zero_grad()` before `loss.backward()`, or after `optimizer.step()`.
    Known limits:
        Gradients that are cleared by hand (`p.grad = None`) are not seen. On a GPU only gradients that
        were set to None count, which is what zero_grad() does by default.
    """

    id = "TD110"
    name = "zero-grad-before-step"
    title = "gradients are cleared before the step that should use them"
    reads = (StepCycle,)

    # By value and by order of calls: holds for any optimizer. A script may clear once to skip a bad batch.
    sampled_steps = 3

    def __init__(self) -> None:
        self._streaks = Streaks()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, StepCycle)
        wrong = bool(record.cleared) and record.backwards > 0 and record.gradients in ("none", "zero")
        if self._streaks.count(record, wrong) == self.sampled_steps:
            yield self._judge(self._streaks.of(record.optimizer), state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for streak in self._streaks.longer_than(self.sampled_steps):
            yield self._judge(streak, state)

    def _judge(self, streak: Streak, state: RunState) -> Finding:
        cycle = streak.last
        clear = cycle.cleared.code or "zero_grad()"
        return self.finding(
            severity="error",
            confidence=0.97,
            message=(
                f"{call_at(cycle.cleared, 'zero_grad()')} clears the gradients after backward() and before "
                f"{call_at(cycle.place, f'{cycle.optimizer}.step()')}: since step {streak.first_step} the step "
                f"has found {'no gradients' if cycle.gradients == 'none' else 'zeros only'}."
            ),
            why=(
                "backward() fills the gradients and step() uses them; what is cleared in between never reaches "
                f"the weights. This was so on {streak.length} sampled steps in a row."
            ),
            fix=(
                f"Move `{clear}`{line_of(cycle.cleared)} before "
                f"{call_at(cycle.backward, 'backward()')}, or after the step; "
                "remove it where they are cleared there already."
            ),
            where=cycle.cleared,
            first_step=streak.first_step,
            last_step=max(cycle.step, state.step),
            evidence={
                "optimizer": cycle.optimizer,
                "gradients": cycle.gradients,
                "backwards": float(cycle.backwards),
                "streak": float(streak.length),
            },
        )
