"""TD524: a script that goes past its NaN losses, over and over."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.graph import at
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, Record, SkippedLosses


class NanStepsSkipped(Check):
    """The script leaves out every step whose loss is NaN or Inf, and these are many.

    Symptom:
        The logged loss looks healthy, because only the good steps are in it. A part of the data, or all of it
        from some step on, is never learned.
    Evidence:
        A model called again with no `backward()` since its last call, while the loss of that call lies in the
        caller's variables and is not finite.
    Fix:
        Find what makes it NaN: take the guard out and run again, and the op that makes the first NaN is named.
    Known limits:
        Seen for losses on the CPU that are still in a variable when the model is next called. A few left out
        steps are accepted.
    """

    id = "TD524"
    name = "nan-steps-skipped"
    title = "many steps are left out because their loss is NaN"
    reads = (SkippedLosses,)
    explains = ("output-not-finite",)

    # Fewer may be a broken sample here and there.
    smallest_count = 4
    # Of all steps, those left out.
    smallest_share = 0.1

    def __init__(self) -> None:
        self._first = 0
        self._last: SkippedLosses | None = None

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, SkippedLosses)
        self._first, self._last = self._first or record.step, record
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        last = self._last
        share = last.count / (last.count + max(1, state.step)) if last else 0.0
        if last is not None and last.count >= self.smallest_count and share >= self.smallest_share:
            yield self._judge(last, share, state)

    def _judge(self, last: SkippedLosses, share: float, state: RunState) -> Finding:
        return self.finding(
            severity="error",
            confidence=0.93,
            message=(
                f"`{last.name}` was not finite {last.count} times or more since step {self._first}, and the "
                f"script{at(last.place)} went on without a backward(): {share:.0%} of all steps are left out."
            ),
            why=(
                "A guard against NaN hides it. What is left out is never learned, the mean of the rest looks "
                "good, and whatever makes the NaN is still there."
            ),
            fix=(
                f"Take the guard{at(last.place)} out and run again: then the op that makes the first NaN is "
                "named; mend that, and keep a guard that counts and stops."
            ),
            where=last.place,
            first_step=self._first,
            last_step=max(last.step, state.step),
            evidence={"skipped": float(last.count), "share": share},
        )
