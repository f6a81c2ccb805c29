"""TD111: an optimizer steps without a backward() that made gradients for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import Streak, Streaks, call_at, line_of, parentheses
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, Finding, Place, Record, StepCycle, TensorRows


class BackwardMissing(Check):
    """The optimizer steps, but no gradients are computed for its steps.

    Symptom:
        The loss stays where it began; or, where backward() ran once before the loop, the weights drift in
        one direction whatever the batches are.
    Evidence:
        On several sampled steps in a row there was no backward() since the optimizer's last step, and its
        parameters had no gradients at all, or the very ones that its last step had used already. Or there was
        one, of another loss, and in the whole run none of a loss at hand that leads to these parameters.
    Fix:
        Call `loss.backward()` in the loop, after the loss is computed and before `optimizer.step()`.
    Known limits:
        Gradients that are set by hand (`p.grad = ...`, evolution strategies) are new ones and are not
        reported. Nor are steps without a forward pass, which only turn a scheduler.
    """

    id = "TD111"
    name = "backward-missing"
    title = "the optimizer steps without new gradients"
    reads = (StepCycle, TensorRows)
    explains = ("graph-cut",)

    # Holds for any optimizer: without a gradient it leaves a parameter alone.
    sampled_steps = 3
    # A script that skips batches has steps with fresh gradients too, and then needs more proof.
    sampled_steps_after_fresh_ones = 10

    def __init__(self) -> None:
        self._streaks = Streaks()
        self._fresh: Counter[str] = Counter()
        self._reached: set[str] = set()  # optimizers that had gradients in some look

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, TensorRows):
            if record.table.kind == "parameter":
                self._reached.add(record.table.root)
            return
        assert isinstance(record, StepCycle)
        others_only = bool(record.unspent)
        wrong = (not record.backwards or others_only) and not record.cleared and _is_without_news(record)
        self._fresh[record.optimizer] += record.gradients == "nonzero"
        if self._streaks.count(record, wrong) == self._needed(record) and not others_only:
            yield self._judge(self._streaks.of(record.optimizer), state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        """Where other losses have their backward, this one's may begin late: judged at the end only."""
        for streak in self._streaks.longer_than(self.sampled_steps - 1):
            never = bool(streak.last.unspent) and streak.last.optimizer not in self._reached
            if never or (streak.length > self._needed(streak.last) and not streak.last.unspent):
                yield self._judge(streak, state)

    def _needed(self, cycle: StepCycle) -> int:
        many = self._fresh[cycle.optimizer] > 1  # one may have been made before the loop
        return self.sampled_steps_after_fresh_ones if many else self.sampled_steps

    def _judge(self, streak: Streak, state: RunState) -> Finding:
        cycle = streak.last
        named = cycle.uncalled
        found = "no gradients" if cycle.gradients == "none" else "the gradients of the step before"
        loss = cycle.unspent or (cycle.losses[0] if len(cycle.losses) == 1 else "loss")
        whose = f"`{cycle.unspent}.backward()`" if cycle.unspent else "backward()"
        return self.finding(
            severity="error",
            confidence=0.97 if cycle.gradients == "none" else 0.9,
            message=(
                f"{call_at(cycle.place, f'{cycle.optimizer}.step()')} has found {found} since step "
                f"{streak.first_step}: {whose} was not called before it."
            ),
            why=(
                parentheses(named)
                if named
                else "backward() computes the gradients that a step follows. "
                f"None was called for this step on {streak.length} sampled steps in a row."
            ),
            fix=(
                f"Write `{named.code}()`{line_of(named)}."
                if named
                else f"Put `{loss}.backward()` before {call_at(cycle.place, f'{cycle.optimizer}.step()')}."
            ),
            where=named or cycle.place,
            first_step=streak.first_step,
            last_step=max(cycle.step, state.step),
            evidence={
                "optimizer": cycle.optimizer,
                "gradients": cycle.gradients,
                "streak": float(streak.length),
            },
            edit=_edit(named, f"{named.code}()") if named else _edit(cycle.place, _before_step(cycle, loss)),
        )


def _is_without_news(cycle: StepCycle) -> bool:
    """Steps without a model in between only turn a scheduler, to plot its learning rates."""
    return cycle.gradients == "stale" or (cycle.gradients == "none" and cycle.trained)


def _before_step(cycle: StepCycle, loss: str) -> str:
    return f"{loss}.backward()\n{cycle.place.code}"


def _edit(place: Place, after: str) -> Edit | None:
    if place.file is None or place.line is None or not place.code:
        return None
    return Edit(place.file, place.line, place.code, after)
