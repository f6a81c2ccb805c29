"""Learning rates that are too high or too low."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.call_edits import change_rate, highest_rate, is_adaptive
from torch_debugger.checks.optimization import UpdateSizes
from torch_debugger.checks.trends import recent_level, start_level
from torch_debugger.records import Finding, OptimizerFact, Place, Record, Scalars, TensorRows


class LrTooHigh(Check):
    """The learning rate is so large that the loss rises or cannot settle.

    Symptom:
        The loss jumps within the first steps, then grows to Inf or NaN, or ends up flat at or above the
        value it started with.
    Evidence:
        The loss against its start, and the size of an update relative to the weights it changes: a
        thousandth is usual, a third or more replaces what was learned.
    Fix:
        Divide the learning rate by 10, by 100 where the loss exploded within a few steps. A warm-up
        helps where only the first steps are too large.
    Known limits:
        Judged only for a script with one loss that stays above zero: GAN and reinforcement losses rise
        for other reasons. A spike the run recovers from is not reported. Where the script itself raises the
        rate more than a hundredfold, as a search for the best rate does, it is a note.
    """

    id = "TD503"
    name = "lr-too-high"
    title = "the learning rate is too high"
    reads = (Scalars, TensorRows)
    explains = ("loss-not-finite", "overflow-ahead", "dead-relu", "vanishing-gradient", "exploding-gradient")

    # Relative to the start of the run, for losses above zero; noise of a healthy run stays below.
    risen = 4.0
    # Without any update ratio, only growth that noise cannot explain.
    risen_alone = 100.0
    # Median over weights of |update| / |weight| on one step. Adam at 1e-2 begins near 0.1.
    large_update = 0.3
    # The same, held for most of the run: the weights are replaced every few steps.
    sustained_update = 0.1
    sustained_looks = 10
    # A busy machine looks less often: then each look must show more, and the run must be longer.
    update_of_few_looks = 0.2
    few_looks = 3
    losses_of_few_looks = 100
    # Back at or above where it started: 0.85 allows for noise.
    not_learned = 0.85
    # A run must have had the time to recover from its first steps: online, and when it ends.
    losses_needed = 200
    losses_needed_at_end = 20
    # A search for the best learning rate raises it from tiny to absurd on purpose; a warm-up ends sooner.
    search_rise = 100.0
    warmup_rest = 20  # steps at one rate

    def __init__(self) -> None:
        self._count = 0
        self._peak = -math.inf
        self._lowest = math.inf
        self._updates = UpdateSizes()
        self._rates: tuple[float, float] | None = None  # the first learning rate and the last
        self._rested = 0  # steps since the rate last changed
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if self._reported:
            return
        if isinstance(record, TensorRows):
            self._updates.see(record)
        elif isinstance(record, Scalars) and "loss" in record.values:
            rate = next((value for tag, value in record.values.items() if tag.startswith("lr/")), None)
            if rate is not None:
                first, last = self._rates or (rate, rate)
                self._rested = self._rested + 1 if rate == last else 0
                self._rates = (first, rate)
            yield from self._see_loss(record.values["loss"], state)

    def _see_loss(self, loss: float, state: RunState) -> Iterable[Finding]:
        if math.isfinite(loss):
            self._count += 1
            self._peak = max(self._peak, loss)
            self._lowest = min(self._lowest, loss)
            if self._count == self.losses_needed:
                yield from self._judge(state, self._stalled(state))
        elif self._count:
            yield from self._judge(state, self._exploded(state))

    def finish(self, state: RunState) -> Iterable[Finding]:
        if not self._reported and self._count:
            yield from self._judge(state, self._exploded(state) or self._stalled(state))

    def _can_tell(self, state: RunState) -> bool:
        return len(state.sites) <= 1 and self._count >= 3 and self._lowest > 0

    def _exploded(self, state: RunState) -> str | None:
        """The last losses tower over the start and there is no way back."""
        if not self._can_tell(state):
            return None
        points = state.losses.finite()
        growth = max(value for _, value in points[-3:]) / start_level(points)
        lost = not math.isfinite(state.losses.points[-1][1])
        if not self._has_large_updates(self.sustained_update if lost else self.large_update):
            return None
        if growth < (self.risen if lost and self._updates.ratios else self.risen_alone):
            return None
        after = f", then to {state.losses.points[-1][1]}" if lost else ""
        return f"rose from {start_level(points):.3g} to {self._peak:.3g}{after}"

    def _stalled(self, state: RunState) -> str | None:
        """After large updates the loss is not below its start."""
        if not self._can_tell(state) or self._count < self.losses_needed_at_end:
            return None
        points = state.losses.finite()
        start, now = start_level(points), recent_level(points, 20)
        if now < self.not_learned * start:
            return None
        risen = self.risen if self._updates.ratios else self.risen_alone
        if self._peak >= risen * start and self._has_large_updates(self.large_update):
            return f"rose from {start:.3g} to {self._peak:.3g} and is at {now:.3g} now"
        looks = self._updates.ratios[: 2 * self.sustained_looks]
        if self.few_looks <= len(looks) < self.sustained_looks and self._count >= self.losses_of_few_looks:
            thrashes = min(looks) > self.update_of_few_looks
        else:
            large = sum(ratio > self.sustained_update for ratio in looks)
            thrashes = len(looks) >= self.sustained_looks and large >= 0.75 * len(looks)
        return f"went from {start:.3g} to {now:.3g} only" if thrashes else None

    def _has_large_updates(self, level: float) -> bool:
        """Also where no update was measured: then the loss alone must be proof enough."""
        return not self._updates.ratios or self._updates.largest >= level

    def _judge(self, state: RunState, story: str | None) -> Iterable[Finding]:
        if story is None:
            return
        self._reported = True
        points = state.losses.finite()
        start = start_level(points)
        optimizer = next(iter(state.optimizers.values()), None)
        first_rate, last_rate = self._rates or (0.0, 0.0)
        rate = max(highest_rate(optimizer) or 0.0, first_rate, last_rate) or None  # a schedule may raise it
        # A rate that is still on its way up; a warm-up arrives and rests.
        is_search = self._rested < self.warmup_rest and last_rate > self.search_rise * first_rate
        with_rate = f" with {optimizer.kind} at a learning rate of {rate:g}" if optimizer and rate is not None else ""
        first_rise = next((step for step, value in points if value >= self.risen * start), points[0][0])
        factor = 0.01 if self._peak > 1e4 * start else 0.1
        ratio = (
            f"; updates were up to {self._updates.largest:.3g} times the size of the weights"
            if self._updates.ratios
            else ""
        )
        yield self.finding(
            severity="note" if is_search else "error",
            confidence=0.93 if self._updates.ratios else 0.75,
            message=f"The loss {story}{with_rate}{ratio}.",
            why="A step is only good near the point where its gradient was taken. Steps as large as the "
            "weights themselves jump past every minimum, and each jump makes the next gradient larger.",
            fix=_fix(optimizer, rate, factor, state),
            where=optimizer.place if optimizer else Place(),
            steps=(first_rise, state.step),
            evidence={
                "start_loss": start,
                "peak_loss": self._peak,
                "last_loss": points[-1][1],
                "largest_update_ratio": self._updates.largest,
                "lr": rate or math.nan,
            },
            edit=change_rate(optimizer, factor) if optimizer else None,
        )


def _fix(optimizer: OptimizerFact | None, rate: float | None, factor: float, state: RunState) -> str:
    if optimizer is None or rate is None:
        return f"Divide the learning rate `lr` by {1 / factor:g}."
    line = at_line(optimizer.place)
    advice = f"Lower `lr` of `{optimizer.name}`{line} from {rate:g} to {rate * factor:.3g}."
    if state.schedulers:
        advice += f" {state.schedulers[0].kind} changes it too: check the highest rate it sets."
    return advice


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

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, TensorRows):
            self._updates.see(record)
        elif isinstance(record, Scalars):
            rates = [value for tag, value in record.values.items() if tag.startswith("lr/")]
            if rates:
                first, highest, _ = self._rates or (max(rates), 0.0, 0.0)
                self._rates = [first, max(highest, *rates), max(rates)]

    def finish(self, state: RunState) -> Iterable[Finding]:
        optimizer = next(iter(state.optimizers.values()), None)
        if optimizer is None or len(state.sites) > 1 or len(state.optimizers) > 1 or not self._is_low(optimizer):
            return
        values = [value for _, value in state.losses.finite()]
        looks, largest = self._updates.ratios, self._updates.largest
        if len(values) < self.losses_needed or min(values) <= 0 or len(looks) < self.looks_needed:
            return
        if largest > self.largest_update or largest * len(values) >= self.whole_way:
            return
        start, now = statistics.median(values[:20]), statistics.median(values[-20:])
        # How far two medians of twenty losses lie apart by chance alone.
        error = 1.25 * min(statistics.stdev(values[:20]), statistics.stdev(values[-20:])) * math.sqrt(2 / 20)
        if abs(now - start) < max(self.moved * start, self.chance * error):
            rate = self._rates[1]
            better = 1e-3 if is_adaptive(optimizer.kind) else 1e-2
            line = at_line(optimizer.place)
            yield self.finding(
                severity="error",
                confidence=0.9,
                message=f"The loss went from {start:.4g} to {now:.4g} in {state.step} steps: with {optimizer.kind} at "
                f"a learning rate of {rate:g} an update moves the weights by {largest:.2g} of their size.",
                why=f"Even if all {state.step} updates had gone in one direction, the weights would have changed "
                f"by {largest * state.step:.2g} of their size. About a thousandth a step is usual.",
                fix=f"Raise `lr` of `{optimizer.name}`{line} from {rate:g} to {better:g}.",
                where=optimizer.place,
                steps=(1, state.step),
                evidence={"lr": rate, "update_ratio": largest, "start_loss": start, "last_loss": now},
                edit=change_rate(optimizer, better / rate) if math.isfinite(better / rate) else None,
            )

    def _is_low(self, optimizer: OptimizerFact) -> bool:
        if not self._rates or self._rates[1] <= 0:
            return False
        first, highest, last = self._rates
        rising = last == highest and first < 0.5 * highest
        low = self.highest_adaptive if is_adaptive(optimizer.kind) else self.highest_plain
        return not rising and highest <= low
