"""TD321: a mask of zeros and ones multiplied into scores, in front of a softmax."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.schedules import at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, MultipliedMask, Record


class MaskMultipliedIntoScores(Check):
    """Scores are multiplied with a mask of zeros and ones before the softmax, so nothing is masked.

    Symptom:
        The model attends to padding, or to tokens that lie in the future: in training it does too well, or
        what it says depends on the padding.
    Evidence:
        The autograd graph: a softmax takes scores that were multiplied with a tensor of zeros and ones, and
        its result is not masked again.
    Fix:
        `scores.masked_fill(mask == 0, float("-inf"))` in place of the product.
    Known limits:
        Attention inside of torch's fused functions is not seen; a mask that is all ones in the batches looked
        at tells nothing.
    """

    id = "TD321"
    name = "mask-multiplied-into-scores"
    title = "a mask is multiplied into the scores before a softmax"
    reads = (MultipliedMask,)
    explains = ("target-leakage",)

    looks_needed = 2

    def __init__(self) -> None:
        self._looks: dict[str, list[MultipliedMask]] = {}  # by line

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, MultipliedMask) and record.binary and not record.again:
            looks = self._looks.setdefault(at_line(record.place), [])
            looks.append(record)
            if len(looks) == self.looks_needed:
                yield self._judge(looks, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        told = [looks for looks in self._looks.values() if len(looks) >= self.looks_needed]
        return [self._judge(looks, state) for looks in told]

    def _judge(self, looks: list[MultipliedMask], state: RunState) -> Finding:
        first = looks[0]
        return self.finding(
            severity="error",
            confidence=0.93,
            message=(
                f"The scores of a softmax{at_line(first.place)} are multiplied with a mask of zeros and ones: "
                f"{first.zeros:.0%} of them become 0, which a softmax does not leave out."
            ),
            why=(
                "A softmax gives every score a weight in proportion to exp(score), and exp(0) is 1: a masked "
                "place gets as much as one with a middling score. Only -inf gives a weight of 0."
            ),
            fix='Write `scores.masked_fill(mask == 0, float("-inf"))` in place of the product, in your names.',
            where=first.place,
            first_step=first.step,
            last_step=max(looks[-1].step, state.step),
            evidence={"masked": first.zeros, "shape": str(first.shape), "looks": float(len(looks))},
        )
