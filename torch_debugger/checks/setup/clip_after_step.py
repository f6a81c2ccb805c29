"""TD137: gradients that are clipped after they were used."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.schedules import at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import ClipFact, Finding, Record


class ClipAfterStep(Check):
    """Gradients are clipped after `optimizer.step()`, when they have been used already.

    Symptom:
        The loss spikes or goes to NaN although the gradients are clipped; another limit changes nothing.
    Evidence:
        Whenever it was looked at, the optimizer had stepped between the last backward() and the clip.
    Fix:
        Clip between `loss.backward()` and `optimizer.step()`.
    Known limits:
        A limit of infinity, used to measure the norm, is not reported, and neither is a clip that also runs
        at the right place. A clip of your own making is not seen.
    """

    id = "TD137"
    name = "clip-after-step"
    title = "gradients are clipped after the optimizer has used them"
    reads = (ClipFact,)
    explains = ("lr-too-high", "loss-not-finite", "overflow-ahead", "exploding-gradient")

    looks_needed = 3

    def __init__(self) -> None:
        self._late: dict[str, list[ClipFact]] = {}
        self._in_time: set[str] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, ClipFact)
        if not record.late:
            self._in_time.add(record.optimizer)
        elif not math.isinf(record.limit):
            looks = self._late.setdefault(record.optimizer, [])
            looks.append(record)
            if len(looks) == self.looks_needed and record.optimizer not in self._in_time:
                yield self._found(looks)

    def _found(self, looks: list[ClipFact]) -> Finding:
        last = looks[-1]
        known = [look.norm for look in looks if math.isfinite(look.norm)]
        largest = max(known, default=math.nan)
        used = f"; it had just used gradients of norm {largest:.3g}" if largest > last.limit else ""
        code = last.place.code or "the clip"
        return self.finding(
            severity="error",
            confidence=0.96,
            message=(
                f"`{code}`{at_line(last.place)} clips the gradients after `{last.optimizer}.step()`, in each "
                f"of the {len(looks)} steps looked at{used}."
            ),
            why="The update is over by then: what is clipped are gradients that nobody uses any more.",
            fix=f"Move `{code}`{at_line(last.place)} between `backward()` and `{last.optimizer}.step()`.",
            where=last.place,
            first_step=looks[0].step,
            last_step=last.step,
            evidence={"limit": last.limit, "largest_norm": largest, "looks": float(len(looks))},
        )
