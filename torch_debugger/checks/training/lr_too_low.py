"""TD551: updates so small that nothing is learned."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.optimizer_call import change_rate, is_adaptive
from torch_debugger.checks.state import RunState
from torch_debugger.checks.updates import UpdateSizes
from torch_debugger.records import Finding, OptimizerFact, Record, Scalars, TensorRows


class LrTooLow(Check):
    """The learning rate is so small that the weights hardly move and the loss stays where it began.

    Symptom:
        The loss does not change but for the noise of the batches, from the first step to the last.
    Evidence:
        The size of an update relative to the weights it changes, below a hundred-thousandth on every look (a
        thousandth is usual), a learning rate far below what the optimizer needs, and a loss that moved by
        less than two in a hundred.
    Fix:
        Raise the learning rate: 1e-3 is a common start for Adam, 1e-2 for SGD.
    Known limits:
        The highest rate of the run counts, so the end of a schedule is not mistaken for it, nor is a warm-up
        that is still rising. Losses that change sign, and scripts with several losses, are not judged.
    """

    id = "TD551"
    name = "lr-too-low"
    title = "the learning rate is too low"
    reads = (Scalars, TensorRows)

    # Median over weights of |update| / |weight|; fine-tuning at 1e-5 with AdamW is near 1e-4.
    largest_update = 1e-5
    # By kind: what divides by the gradient's size moves each weight by about the rate itself.
    highest_adaptive = 2e-6
    highest_plain = 2e-5
    looks_needed = 3
    losses_needed = 100
    # Relative distance of the last twenty losses from the first twenty.
    moved = 0.02
    # Or, where single losses differ more than that, this many times what chance makes of such medians.
    chance = 3.0
    # All updates together, had all of them gone in one direction.
    whole_way = 0.02

    def __init__(self) -> None:
        self._updates = UpdateSizes()
        self._rates: list[float] = []  # the first, the highest, the last

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, TensorRows):
            self._updates.see(record)
        elif isinstance(record, Scalars):
            rates = [value for tag, value in record.values.items() if tag.startswith("lr/")]
            if rates:
                first, highest, _ = self._rates or (max(rates), 0.0, 0.0)
                self._rates = [first, max(highest, *rates), max(rates)]
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        optimizer = next(iter(state.optimizers.values()), None)
        if (
            optimizer is None
            or len(state.sites) > 1
            or len(state.optimizers) > 1
            or not self._is_low(optimizer)
        ):
            return
        values = [value for _, value in state.losses.finite()]
        if len(values) < self.losses_needed or min(values) <= 0 or not self._is_small(len(values)):
            return
        if not self._is_low(optimizer):
            return
        start, now = statistics.median(values[:20]), statistics.median(values[-20:])
        if abs(now - start) < max(self.moved * start, self.chance * _median_error(values)):
            yield self._judge(optimizer, start, now, state)

    def _is_low(self, optimizer: OptimizerFact) -> bool:
        if not self._rates or self._rates[1] <= 0:
            return False
        first, highest, last = self._rates
        rising = last == highest and first < 0.5 * highest
        low = self.highest_adaptive if is_adaptive(optimizer.kind) else self.highest_plain
        return not rising and highest <= low

    def _is_small(self, steps: int) -> bool:
        looks, largest = self._updates.ratios, self._updates.largest
        if len(looks) < self.looks_needed or largest > self.largest_update:
            return False
        return largest * steps < self.whole_way

    def _judge(self, optimizer: OptimizerFact, start: float, now: float, state: RunState) -> Finding:
        rate = self._rates[1]
        better = 1e-3 if is_adaptive(optimizer.kind) else 1e-2
        largest = self._updates.largest
        line = f" at {optimizer.place.file}:{optimizer.place.line}" if optimizer.place.file else ""
        return self.finding(
            severity="error",
            confidence=0.9,
            message=(
                f"The loss went from {start:.4g} to {now:.4g} in {state.step} steps: with {optimizer.kind} at "
                f"a learning rate of {rate:g} an update moves the weights by {largest:.2g} of their size."
            ),
            why=(
                f"Even if all {state.step} updates had gone in one direction, the weights would have changed "
                f"by {largest * state.step:.2g} of their size. About a thousandth a step is usual."
            ),
            fix=f"Raise `lr` of `{optimizer.name}`{line} from {rate:g} to {better:g}.",
            where=optimizer.place,
            first_step=1,
            last_step=state.step,
            evidence={"lr": rate, "update_ratio": largest, "start_loss": start, "last_loss": now},
            edit=change_rate(optimizer, better / rate) if math.isfinite(better / rate) else None,
        )


def _median_error(values: list[float]) -> float:
    """How far two medians of twenty losses lie apart by chance alone."""
    spread = min(statistics.stdev(values[:20]), statistics.stdev(values[-20:]))
    return 1.25 * spread * math.sqrt(2 / 20)
