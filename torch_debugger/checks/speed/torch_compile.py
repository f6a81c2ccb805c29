"""torch.compile: graph breaks and recompilations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.step_time import LEAST_GAIN, milliseconds, severity_of
from torch_debugger.records import Compilation, CostFact, Finding, Place, Record

# What a line reads or shows that compiled code cannot: a cut at it is its own, and no call of something cut.
_READS = re.compile(r"\.item\(|\bprint\(|\.cpu\(|\.numpy\(|\.tolist\(|\bfloat\(|\bint\(|\bbool\(|^(el)?if |^while ")


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
        if isinstance(record, CostFact):
            self._elapsed_s = record.elapsed_s
            yield from self.finish(state)
            return
        assert isinstance(record, Compilation)
        if record.is_part and record.place:
            self._cuts.setdefault(record.place, []).append(record)
        elif record.given_up and record.again == self.fresh and record.reason_place:
            self._cuts.setdefault(record.reason_place, []).append(record)

    def finish(self, state: RunState) -> Iterable[Finding]:
        spent_s = sum(each.seconds for cuts in self._cuts.values() for each in cuts)
        if self._elapsed_s <= 0 or self.saved * spent_s < LEAST_GAIN * self._elapsed_s:
            return
        place, cuts = max(
            self._cuts.items(), key=lambda item: (_READS.search(item[0].code or "") is not None, len(item[1]))
        )
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
        yield self.finding(
            severity="note",
            confidence=0.8,
            message=f"torch.compile {done} at `{place.code or f'line {place.line}'}`{because}. {took} "
            f"{milliseconds(spent_s)} of the {milliseconds(self._elapsed_s)} so far.",
            why="Compiled code cannot do what such a line does: it computes up to there, goes back to "
            "Python, and goes on in another piece of compiled code. Nothing is fused across the cut.",
            fix="Take the line out of the compiled function: give back the value and look at it outside, every 50 "
            "steps; choose with `torch.where` rather than `if`. `torch.compile(..., fullgraph=True)` stops at the "
            f"first such line. That saves {100 * gain:.0f} % of the time so far.",
            where=place,
            steps=(min(each.step for each in cuts), state.step),
            evidence={
                "expected_gain": gain,
                "compiling_s": spent_s,
                "elapsed_s": self._elapsed_s,
                "parts": float(parts + 1),
            },
        )


class RecompilesEachStep(Check):
    """Something that changes with every call makes torch.compile compile the same function again and again.

    Symptom:
        The first steps of a compiled training take seconds each, and later ones are no faster than without
        torch.compile. A warning about a recompile limit may stand in the output.
    Evidence:
        torch's own list of compilations, read between steps: how often a function was compiled, how long that
        took, and which condition of the compiled code no longer held. After 8 times torch gives up and runs
        the function uncompiled.
    Fix:
        Keep what changes out of the compiled function, or make a tensor of it: a count of calls becomes a
        buffer. Sizes that vary are marked: `torch.compile(model, dynamic=True)`.
    Known limits:
        Torch compiles twice where a size varies, and finds a form for all sizes with the second: up to four
        times are taken for that. What a compiled step would have saved is not known; only the time spent on
        compiling is claimed.
    """

    id = "TD741"
    name = "recompiles-each-step"
    title = "torch.compile compiles the same function again and again"
    reads = (Compilation, CostFact)

    # Of one function: several lengths, the last batch, training and evaluation come to fewer.
    least_times = 5
    needed = 2  # compilations that a varying size needs anyway

    def __init__(self) -> None:
        self._frames: dict[int, list[Compilation]] = {}
        self._elapsed_s = 0.0

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, Compilation):
            self._frames.setdefault(record.frame, []).append(record)
        elif isinstance(record, CostFact):
            self._elapsed_s = record.elapsed_s
            yield from self.finish(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        often = [frame for frame in self._frames.values() if len(frame) >= self.least_times]
        if not often or self._elapsed_s <= 0:
            return
        worst = max(often, key=lambda frame: sum(each.seconds for each in frame))
        spent_s = sum(each.seconds for each in worst[self.needed :])
        gain = min(1.0, spent_s / self._elapsed_s)
        first, last = worst[0], worst[-1]
        severity = "warning" if last.given_up else severity_of(gain)
        if severity is None:
            return
        times = len(worst) - last.given_up
        again = [each for each in worst if each.again]
        reason = again[-1].reason if again else ""
        places = Counter(each.reason_place for each in again if each.reason_place)
        where = places.most_common(1)[0][0] if places else first.place
        end = " Then torch gave up: since then it runs uncompiled." if last.given_up else ""
        yield self.finding(
            severity=severity,
            confidence=0.9,
            message=f"torch.compile has compiled `{first.function}` {times} times by step {last.step}, the last "
            f"{times - self.needed} for {milliseconds(spent_s)}, because `{reason}` no longer held.{end}",
            why="Compiled code holds under the conditions that it was compiled for. A plain number that a function "
            "reads is one of them, so a number that changes with every call asks for new code each time.",
            fix=f"{_remedy(reason, where)} That saves {100 * gain:.0f} % of the time so far.",
            where=where,
            steps=(first.step, max(last.step, state.step)),
            evidence={
                "expected_gain": gain,
                "compiling_s": spent_s,
                "elapsed_s": self._elapsed_s,
                "times": float(times),
                "condition": reason,
            },
        )


def _remedy(reason: str, where: Place) -> str:
    if "size mismatch" in reason or "stride mismatch" in reason:
        return "Write `torch.compile(..., dynamic=True)`, or bring batches to a few sizes (`drop_last=True`)."
    name = reason.partition(" == ")[0].strip()
    if " == " in reason and name.startswith("self."):
        line = f" (line {where.line})" if where.line else ""
        attribute = name.removeprefix("self.")
        return (
            f'Make a buffer of `{name}`{line}: `self.register_buffer("{attribute}", torch.zeros(()))`, or '
            "count outside of the compiled function."
        )
    return "Keep what changes out of the compiled function, or give it as a tensor."
