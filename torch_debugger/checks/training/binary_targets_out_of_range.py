"""TD516: binary cross-entropy with targets that are no probabilities."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.graph import at
from torch_debugger.checks.state import RunState
from torch_debugger.records import Comparison, Finding, Record, Spread


class BinaryTargetsOutOfRange(Check):
    """Binary cross-entropy is given targets below 0 or above 1.

    Symptom:
        The loss falls below zero and has no lowest value; the scores grow without end.
    Evidence:
        The targets that the loss saved for its backward: a share of them far outside of 0 to 1.
    Fix:
        Bring the targets to 0 and 1: `(y + 1) / 2` for labels of -1 and 1, `y - 1` for 1 and 2, `/ 255` for
        the grey values of pictures.
    Known limits:
        Targets a little outside, as GANs take them (0.7 to 1.2), are accepted.
    """

    id = "TD516"
    name = "binary-targets-out-of-range"
    title = "binary cross-entropy with targets outside of 0 to 1"
    reads = (Comparison,)
    explains = ("loss-not-finite", "overflow-ahead", "lr-too-high")

    # Smoothed and noisy labels stay within these.
    lowest = -0.5
    highest = 1.5
    # Of the targets: one bad label is another story.
    smallest_share = 0.02

    def __init__(self) -> None:
        self._first: dict[str, Comparison] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, Comparison)
        if record.site not in self._first and self._is_out(record):
            self._first[record.site] = record
            yield self._judge(record, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return [self._judge(record, state) for record in self._first.values()]

    def _is_out(self, record: Comparison) -> bool:
        if not record.op.startswith("BinaryCrossEntropy"):
            return False
        below = record.target.lowest < self.lowest and record.below_zero >= self.smallest_share
        above = record.target.highest > self.highest and record.above_one >= self.smallest_share
        return below or above

    def _judge(self, record: Comparison, state: RunState) -> Finding:
        target = record.target
        outside = record.below_zero + record.above_one
        return self.finding(
            severity="error",
            confidence=0.96,
            message=(
                f"The binary cross-entropy{at(record.made)} gets targets from {target.lowest:.4g} to "
                f"{target.highest:.4g}: {outside:.0%} of them lie outside of 0 to 1."
            ),
            why=(
                "Binary cross-entropy takes its target for a probability. For a target below 0 or above 1 it "
                "has no lowest value: the larger the score, the lower the loss, without end."
            ),
            fix=_fix(target),
            where=record.made,
            first_step=record.step,
            last_step=max(record.step, state.step),
            evidence={
                "lowest_target": target.lowest,
                "highest_target": target.highest,
                "share_outside": outside,
            },
        )


def _fix(target: Spread) -> str:
    low, high = round(target.lowest, 3), round(target.highest, 3)
    if (low, high) == (-1.0, 1.0):
        return "Bring the targets to 0 and 1: `(target + 1) / 2`."
    if (low, high) == (1.0, 2.0):
        return "Bring the targets to 0 and 1: `target - 1`."
    if low >= 0 and 100 < high <= 255:
        return "Bring the targets to the range 0 to 1: `target / 255`."
    return (
        "Bring the targets to the range 0 to 1; for targets of any other range use a loss for numbers, such as "
        "`nn.MSELoss()`."
    )
