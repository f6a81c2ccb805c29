"""TD742: lines at which torch.compile has to leave compiled code."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import LEAST_GAIN, milliseconds
from torch_debugger.checks.state import RunState
from torch_debugger.records import Compilation, CostFact, Finding, Place, Record

# What a line reads or shows that compiled code cannot: a cut at it is its own, and no call of something cut.
_READS = re.compile(
    r"\.item\(|\bprint\(|\.cpu\(|\.numpy\(|\.tolist\(|\bfloat\(|\bint\(|\bbool\(|^(el)?if |^while "
)


class GraphBreaks(Check):
    """torch.compile cuts a function into parts at a line that it cannot compile, or leaves it uncompiled.

    Symptom:
        A compiled training starts slowly and gains less than expected.
    Evidence:
        torch's own list of compilations, read between steps: parts of functions that were compiled by
        themselves, with the line at which the function was cut, functions that were given up, and the time
        that took.
    Fix:
        Take the line out of the compiled function: no `.item()`, `print` or `if` on a tensor's value in
        there. `torch.where`, a value that is returned, or a look every 50 steps from outside do the same.
    Known limits:
        It is a note: what a whole graph would save in each step is not known, only half of the time spent on
        compiling parts is claimed, as a share of the run so far. A cut in a library is not told.
    """

    id = "TD742"
    name = "graph-breaks"
    title = "torch.compile cuts a function at a line that it cannot compile"
    reads = (Compilation, CostFact)

    # Torch counts them as failures too, but then the function was compiled well before: another check's.
    fresh = 0
    # Of the time that the parts took: the ops in them have to be traced in a whole graph, too.
    saved = 0.5

    def __init__(self) -> None:
        self._cuts: dict[Place, list[Compilation]] = {}
        self._elapsed_s = 0.0

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, Compilation):
            self._add(record)
        elif isinstance(record, CostFact):
            self._elapsed_s = record.elapsed_s
            yield from self._judge(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return self._judge(state)

    def _add(self, record: Compilation) -> None:
        if record.is_part and record.place:
            self._cuts.setdefault(record.place, []).append(record)
        elif record.given_up and record.again == self.fresh and record.reason_place:
            self._cuts.setdefault(record.reason_place, []).append(record)

    def _judge(self, state: RunState) -> Iterable[Finding]:
        spent_s = sum(each.seconds for cuts in self._cuts.values() for each in cuts)
        if self._elapsed_s <= 0 or self.saved * spent_s < LEAST_GAIN * self._elapsed_s:
            return
        place, cuts = max(self._cuts.items(), key=lambda item: (_reads(item[0]), len(item[1])))
        yield self._told(place, cuts, spent_s, state)

    def _told(self, place: Place, cuts: list[Compilation], spent_s: float, state: RunState) -> Finding:
        gain = min(1.0, self.saved * spent_s / self._elapsed_s)
        given_up = next((each for each in cuts if each.given_up), None)
        parts = sum(len({each.frame for each in found}) for found in self._cuts.values())
        done = (
            f"leaves `{given_up.function}` uncompiled"
            if given_up is not None
            else f"cuts `{cuts[0].function}`, and all that calls it, into {parts + 1} parts"
        )
        took = "Trying it took" if given_up is not None else "Compiling the parts took"
        because = f" ({given_up.reason.rstrip('.')})" if given_up is not None and given_up.reason else ""
        return self.finding(
            severity="note",
            confidence=0.8,
            message=(
                f"torch.compile {done} at `{place.code or f'line {place.line}'}`{because}. {took} "
                f"{milliseconds(spent_s)} of the {milliseconds(self._elapsed_s)} so far."
            ),
            why=(
                "Compiled code cannot do what such a line does: it computes up to there, goes back to "
                "Python, and goes on in another piece of compiled code. Nothing is fused across the cut."
            ),
            fix=(
                "Take the line out of the compiled function: give back the value and look at it outside, "
                "every 50 steps; choose with `torch.where` rather than `if`. `torch.compile(..., "
                f"fullgraph=True)` stops at the first such line. That saves {100 * gain:.0f} % of the time "
                "so far."
            ),
            where=place,
            first_step=min(each.step for each in cuts),
            last_step=state.step,
            evidence={
                "expected_gain": gain,
                "compiling_s": spent_s,
                "elapsed_s": self._elapsed_s,
                "parts": float(parts + 1),
            },
        )


def _reads(place: Place) -> bool:
    return _READS.search(place.code or "") is not None
