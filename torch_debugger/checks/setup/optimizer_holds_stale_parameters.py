"""TD113: the optimizer was made for a model that is not the one being trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import Streak, Streaks, line_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, OptimizerFact, Record, StepCycle


class OptimizerHoldsStaleParameters(Check):
    """The model was made anew after its optimizer, which still moves the parameters of the old one.

    Symptom:
        The loss stays where it is from the moment the model was rebuilt, copied or loaded as a new object.
    Evidence:
        On several sampled steps in a row backward() ran and the optimizer's parameters got no gradient
        from it, while a model whose parameters have exactly the same shapes, in the same order, ran with
        gradients and is held by no optimizer.
    Fix:
        Make the optimizer after the line that makes the model which is trained; or load weights into the
        old object with `load_state_dict` instead of making a new one.
    Known limits:
        Only a model that was replaced as a whole is told this way. A single layer that was replaced is
        reported as parameters-not-in-optimizer.
    """

    id = "TD113"
    name = "optimizer-holds-stale-parameters"
    title = "the optimizer holds the parameters of an old model"
    reads = (StepCycle,)
    explains = ("parameters-not-in-optimizer", "lr-too-high")

    # Identity of objects, for any optimizer; the first steps after a swap may belong to a copy under way.
    sampled_steps = 3

    def __init__(self) -> None:
        self._streaks = Streaks()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, StepCycle)
        if self._streaks.count(record, bool(record.twin)) == self.sampled_steps:
            yield self._judge(self._streaks.of(record.optimizer), state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for streak in self._streaks.longer_than(self.sampled_steps):
            yield self._judge(streak, state)

    def _judge(self, streak: Streak, state: RunState) -> Finding:
        cycle = streak.last
        made = state.optimizers.get(cycle.optimizer)
        maker = f"`{cycle.optimizer}`{_made(made)}"
        return self.finding(
            severity="error",
            confidence=0.95,
            message=(
                f"{maker} holds the parameters of another object than `{cycle.twin}`: since step "
                f"{streak.first_step} backward() has given gradients to `{cycle.twin}`, and none to what the "
                "optimizer moves."
            ),
            why=(
                "An optimizer holds the very parameters it was given. A model that is built, copied or loaded "
                f"later has its own, of the same shapes; those of `{cycle.twin}` are in no optimizer."
            ),
            fix=(
                f"Make {maker} after `{cycle.twin}` is made{line_of(cycle.twin_place)}, or put the new weights "
                "into the old object with `load_state_dict`."
            ),
            where=dataclasses.replace(made.place if made else cycle.place, module=cycle.twin),
            first_step=streak.first_step,
            last_step=max(cycle.step, state.step),
            evidence={
                "optimizer": cycle.optimizer,
                "trained_model": cycle.twin,
                "gradients": cycle.gradients,
                "streak": float(streak.length),
            },
        )


def _made(optimizer: OptimizerFact | None) -> str:
    return line_of(optimizer.place) if optimizer is not None else ""
