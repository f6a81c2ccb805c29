"""Steps without a backward, optimizers that never step, momentum that cannot be meant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.call_edits import edit_line
from torch_debugger.checks.optimization import Streak, Streaks, call_at, parentheses
from torch_debugger.records import Edit, Finding, IdleOptimizer, OptimizerFact, Record, StepCycle, TensorRows


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
            message=f"{call_at(cycle.place, f'{cycle.optimizer}.step()')} has found {found} since step "
            f"{streak.first_step}: {whose} was not called before it.",
            why=(
                parentheses(named)
                if named
                else "backward() computes the gradients that a step follows. "
                f"None was called for this step on {streak.length} sampled steps in a row."
            ),
            fix=(
                f"Write `{named.code}()`{at_line(named)}."
                if named
                else f"Put `{loss}.backward()` before {call_at(cycle.place, f'{cycle.optimizer}.step()')}."
            ),
            where=named or cycle.place,
            steps=(streak.first_step, max(cycle.step, state.step)),
            evidence={"optimizer": cycle.optimizer, "gradients": cycle.gradients, "streak": float(streak.length)},
            edit=edit_line(named, f"{named.code}()") if named else edit_line(cycle.place, _before_step(cycle, loss)),
        )


def _is_without_news(cycle: StepCycle) -> bool:
    """Steps without a model in between only turn a scheduler, to plot its learning rates."""
    return cycle.gradients == "stale" or (cycle.gradients == "none" and cycle.trained)


def _before_step(cycle: StepCycle, loss: str) -> str:
    return f"{loss}.backward()\n{cycle.place.code}"


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

    def see(self, record: IdleOptimizer, state: RunState) -> None:
        self._idle[record.optimizer] = record

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
            message=f"`{idle.optimizer}` ({idle.kind}, made{at_line(idle.place)}) never steps: its parameters get "
            f"gradients from {call_at(idle.backward, 'backward()')} and have kept their first values over "
            f"{idle.backwards} or more backward passes.",
            why=(
                parentheses(idle.uncalled)
                if idle.uncalled
                else "backward() only computes gradients. The weights change when step() is called."
            ),
            fix=_fix(idle),
            where=idle.uncalled or idle.condition or idle.backward,
            steps=(1, max(1, state.step)),
            evidence={"backwards": float(idle.backwards), "zero_grads": float(idle.zero_grads)},
            edit=_with_step(idle),
        )


def _fix(idle: IdleOptimizer) -> str:
    if idle.uncalled:
        return f"Write `{idle.uncalled.code}()`{at_line(idle.uncalled)}."
    if idle.condition:
        return (
            f"Change {call_at(idle.condition, 'if')}: it was not true once, so `{idle.optimizer}.step()` "
            "inside was never reached."
        )
    return f"Put `{idle.written or idle.optimizer}.step()` after {call_at(idle.backward, 'backward()')}."


def _with_step(idle: IdleOptimizer) -> Edit | None:
    place = idle.uncalled or idle.backward
    if idle.condition and not idle.uncalled:
        return None
    after = f"{place.code}()" if idle.uncalled else f"{place.code}\n{idle.written or idle.optimizer}.step()"
    return edit_line(place, after)


_BETAS = re.compile(r"betas\s*=\s*[(\[]\s*([\d.e-]+)\s*,\s*([\d.e-]+)\s*[)\]]")


class MomentumOutOfRange(Check):
    """An optimizer's momentum is 1 or more, its betas are swapped, or its rate and momentum are.

    Symptom:
        The loss swings wider and wider or goes to NaN (momentum of 1 and more), or the first steps go far in
        the wrong direction and the rest is slow (swapped betas).
    Evidence:
        The settings of the optimizer as it stepped: momentum of at least 1; the first beta far above the
        second; a rate of 0.9 beside a momentum of a hundredth.
    Fix:
        Momentum belongs below 1, 0.9 is usual. Adam's betas are (0.9, 0.999): the second, of the squares, is
        the longer memory.
    Known limits:
        Small first betas (0 or 0.5, as GANs use them) and equal betas are fine and not reported.
    """

    id = "TD141"
    name = "momentum-out-of-range"
    title = "momentum or betas have values that cannot be meant"
    reads = (OptimizerFact,)
    explains = (
        "lr-too-high",
        "loss-not-finite",
        "overflow-ahead",
        "dead-relu",
        "vanishing-gradient",
        "exploding-gradient",
    )

    # For Adam and its kin: the mean needs the shorter memory. (0.95, 0.9) has been used, more has not.
    betas_apart = 0.06
    # A momentum of these sizes is a learning rate, beside a rate that is a momentum.
    rates_like_momentum = (0.9, 0.95, 0.99)
    momentum_like_rate = 0.1

    def __init__(self) -> None:
        self._reported: set[str] = set()

    def see(self, record: OptimizerFact, state: RunState) -> Iterable[Finding]:
        for group in record.groups:
            story = self._story(group, record)
            if story is not None and record.name not in self._reported:
                self._reported.add(record.name)
                yield self._found(record, group, *story)

    def _story(self, group: dict[str, float], optimizer: OptimizerFact) -> tuple[str, str, str] | None:
        """What is wrong, why that is wrong, and what to write instead."""
        momentum, rate = group.get("momentum", 0.0), group.get("lr", 0.0)
        if momentum >= 1.0:
            return (
                f"a momentum of {momentum:g}",
                "With momentum m a gradient counts 1 + m + m² + ... times in all: without end for m of 1 and more.",
                "Set `momentum=0.9`",
            )
        first, second = group.get("beta1", 0.0), group.get("beta2", 1.0)
        if optimizer.kind != "Adafactor" and first > second + self.betas_apart:
            return (
                f"betas of ({first:g}, {second:g})",
                "The first beta is the memory of the mean, the second that of the squares it is divided by. "
                "With the shorter one second the steps follow old gradients and are scaled by the last few.",
                f"Set `betas=({second:g}, {first:g})`",
            )
        if rate in self.rates_like_momentum and 0.0 < momentum <= self.momentum_like_rate:
            return (
                f"a learning rate of {rate:g} and a momentum of {momentum:g}",
                "The two look as if they had changed places.",
                f"Set `lr={momentum:g}, momentum={rate:g}`",
            )
        return None

    def _found(self, optimizer: OptimizerFact, group: dict[str, float], what: str, why: str, advice: str) -> Finding:
        certain = group.get("momentum", 0.0) >= 1.0
        return self.finding(
            severity="error" if certain else "warning",
            confidence=0.97 if certain else 0.88,
            message=f"`{optimizer.name}` ({optimizer.kind}{at_line(optimizer.place)}) has {what}.",
            why=why,
            fix=f"{advice} in `{optimizer.name}`{at_line(optimizer.place)}.",
            where=optimizer.place,
            steps=(optimizer.step, optimizer.step),
            evidence={key: group[key] for key in ("lr", "momentum", "beta1", "beta2") if key in group},
            edit=_with_swapped_betas(optimizer),
        )


def _with_swapped_betas(optimizer: OptimizerFact) -> Edit | None:
    place = optimizer.place
    written = _BETAS.search(place.code or "")
    if written is None:
        return None
    return edit_line(place, written.string.replace(written[0], f"betas=({written[2]}, {written[1]})", 1))
