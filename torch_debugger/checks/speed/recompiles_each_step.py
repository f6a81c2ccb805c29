"""TD741: torch.compile compiles a function anew in step after step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import milliseconds, severity_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import Compilation, CostFact, Finding, Place, Record


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
            yield from self._judge(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return self._judge(state)

    def _judge(self, state: RunState) -> Iterable[Finding]:
        often = [frame for frame in self._frames.values() if len(frame) >= self.least_times]
        if not often or self._elapsed_s <= 0:
            return
        worst = max(often, key=lambda frame: sum(each.seconds for each in frame))
        spent_s = sum(each.seconds for each in worst[self.needed :])
        gain = min(1.0, spent_s / self._elapsed_s)
        severity = "warning" if worst[-1].given_up else severity_of(gain)
        if severity is not None:
            yield self._told(worst, severity, gain, spent_s, state)

    def _told(
        self, frame: list[Compilation], severity: str, gain: float, spent_s: float, state: RunState
    ) -> Finding:
        first, last = frame[0], frame[-1]
        times = len(frame) - last.given_up
        again = [each for each in frame if each.again]
        reason = again[-1].reason if again else ""
        places = Counter(each.reason_place for each in again if each.reason_place)
        where = places.most_common(1)[0][0] if places else first.place
        end = " Then torch gave up: since then it runs uncompiled." if last.given_up else ""
        return self.finding(
            severity=severity,
            confidence=0.9,
            message=(
                f"torch.compile has compiled `{first.function}` {times} times by step {last.step}, the last "
                f"{times - self.needed} for {milliseconds(spent_s)}, because `{reason}` no longer "
                f"held.{end}"
            ),
            why=(
                "Compiled code holds under the conditions that it was compiled for. A plain number that a "
                "function reads is one of them, so a number that changes with every call asks for new code "
                "each time."
            ),
            fix=f"{_remedy(reason, where)} That saves {100 * gain:.0f} % of the time so far.",
            where=where,
            first_step=first.step,
            last_step=max(last.step, state.step),
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
            "count "
            "outside of the compiled function."
        )
    return "Keep what changes out of the compiled function, or give it as a tensor."
