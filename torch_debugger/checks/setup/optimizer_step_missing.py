"""TD112: gradients are made and cleared, and the optimizer that should use them never steps."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import call_at, line_of, parentheses
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, Finding, IdleOptimizer, Record


class OptimizerStepMissing(Check):
    """An optimizer is made, its parameters get gradients, and it never steps.

    Symptom:
        The loss only varies with the batches. The weights at the end are those of the start.
    Evidence:
        By the end of the run the optimizer's step() was never called, although backward() gave its
        parameters gradients, and sampled weights are bit for bit what they were at the first backward().
    Fix:
        Call `optimizer.step()` after `loss.backward()`, in every step of the loop.
    Known limits:
        Given at the end of the run, since gradients may be collected over many batches before a step. An
        optimizer whose zero_grad() is never called is reported only if no other optimizer steps. A run of
        fewer than eight backward passes is not judged.
    """

    id = "TD112"
    name = "optimizer-step-missing"
    title = "an optimizer is made but never steps"
    reads = (IdleOptimizer,)

    backwards_needed = 8
    # Whoever clears an optimizer's gradients before every backward does not collect them over batches.
    clearings_needed = 2
    # A run that was cut short may have ended before its first step, unless it went this far.
    backwards_of_a_long_run = 64

    def __init__(self) -> None:
        self._idle: dict[str, IdleOptimizer] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, IdleOptimizer)
        self._idle[record.optimizer] = record
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        complete = state.end is not None and state.end.outcome == "finished"
        for idle in self._idle.values():
            if idle.stepped or idle.backwards < self.backwards_needed:
                continue
            if complete or idle.backwards >= self.backwards_of_a_long_run:
                yield from self._judge(idle, state)

    def _judge(self, idle: IdleOptimizer, state: RunState) -> Iterable[Finding]:
        sure = idle.zero_grads >= self.clearings_needed or bool(idle.uncalled)
        if not sure and state.optimizers:
            return
        yield self.finding(
            severity="error" if sure else "warning",
            confidence=0.95 if sure else 0.7,
            message=(
                f"`{idle.optimizer}` ({idle.kind}, made{line_of(idle.place)}) never steps: its parameters get "
                f"gradients from {call_at(idle.backward, 'backward()')} and have kept their first values over "
                f"{idle.backwards} or more backward passes."
            ),
            why=(
                parentheses(idle.uncalled)
                if idle.uncalled
                else "backward() only computes gradients. The weights change when step() is called."
            ),
            fix=_fix(idle),
            where=idle.uncalled or idle.condition or idle.backward,
            first_step=1,
            last_step=max(1, state.step),
            evidence={"backwards": float(idle.backwards), "zero_grads": float(idle.zero_grads)},
            edit=_edit(idle),
        )


def _fix(idle: IdleOptimizer) -> str:
    if idle.uncalled:
        return f"Write `{idle.uncalled.code}()`{line_of(idle.uncalled)}."
    if idle.condition:
        return (
            f"Change {call_at(idle.condition, 'if')}: it was not true once, so `{idle.optimizer}.step()` "
            "inside was never reached."
        )
    return f"Put `{idle.written or idle.optimizer}.step()` after {call_at(idle.backward, 'backward()')}."


def _edit(idle: IdleOptimizer) -> Edit | None:
    place = idle.uncalled or idle.backward
    if place.file is None or place.line is None or not place.code or (idle.condition and not idle.uncalled):
        return None
    after = f"{place.code}()" if idle.uncalled else f"{place.code}\n{idle.written or idle.optimizer}.step()"
    return Edit(place.file, place.line, place.code, after)
