"""A check of what lines of one kind cost that run in every step."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from dataclasses import dataclass

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import expected, milliseconds, severity_of
from torch_debugger.checks.state import RunState
from torch_debugger.checks.step_lines import DearLine, StepSample, dear_line, step_s
from torch_debugger.records import CostFact, Edit, Finding, LossSite, Record, SampledStacks


@dataclass(frozen=True)
class Advice:
    what: str  # the beginning of the message: Logging in every step
    why: str
    fix: str  # without its last sentence, which tells the gain
    edit: Edit | None


class LineCost(Check):
    """Says which kind of line, how much of its time the edit saves, and the words."""

    reads = (CostFact,)

    least_samples = 10
    # What is over sooner, nobody waits for, however short a step is.
    least_line_s = 0.0005
    saved = 1.0  # by the edit, of the time of the lines
    is_loud = True  # else it is a note, however much it saves

    def __init__(self) -> None:
        self._stacks: SampledStacks | None = None  # that the line was found in
        self._known: tuple[tuple[LossSite, ...], bool] | None = None
        self._line: DearLine | None = None

    @abc.abstractmethod
    def fits(self, sample: StepSample) -> bool: ...

    @abc.abstractmethod
    def advise(self, line: DearLine, state: RunState) -> Advice: ...

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        return self._judge(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return self._judge(state)

    def _judge(self, state: RunState) -> Iterable[Finding]:
        line = self._dear_line(state)
        if line is None or line.samples < self.least_samples:
            return
        gain = min(line.of_all * self.saved, _most_of(state))
        severity = severity_of(gain)
        if severity is not None and line.of_all * step_s(state) >= self.least_line_s:
            yield self._found(line, gain, severity if self.is_loud else "note", state)

    def _dear_line(self, state: RunState) -> DearLine | None:
        """Stacks are told far more rarely than costs, and one process may judge a thousand ranks: what they say
        is worked out once."""
        stacks, known = state.sampled.get("training"), (tuple(state.sites.values()), state.split.is_enough())
        if stacks is not self._stacks or known != self._known:
            self._stacks, self._known = stacks, known
            self._line = dear_line(state, self.fits)
        return self._line

    def _found(self, line: DearLine, gain: float, severity: str, state: RunState) -> Finding:
        whole_s = step_s(state)
        others = f" (with {line.lines - 1} more like it)" if line.lines > 1 else ""
        advice = self.advise(line, state)
        return self.finding(
            severity=severity,
            confidence=0.9,
            message=(
                f"{advice.what} takes {milliseconds(line.of_all * whole_s)} of the {milliseconds(whole_s)} of "
                f"each step: `{line.place.code or 'this line'}`{others}."
            ),
            why=advice.why,
            fix=f"{advice.fix} {expected(gain, whole_s)}",
            where=line.place,
            first_step=1,
            last_step=state.step,
            evidence={
                "expected_gain": gain,
                "lines_s": line.of_all * whole_s,
                "step_s": whole_s,
                "samples": float(line.samples),
            },
            edit=advice.edit,
        )


def _most_of(state: RunState) -> float:
    """On a GPU the host stands at such a line until the device has come so far; that is no time of the line.
    What the device is idle between the parts of a step is all that it can save."""
    if state.speed is None or state.speed.device == "cpu":
        return 1.0
    return state.split.share("copy", "logging", "other")


def rarely(edit: Edit | None, steps: int) -> str:
    """How to run a line in some steps only, as an order."""
    condition = edit.after.split("\n")[0] if edit else ""
    return f"Write `{condition}` in front of it" if edit else f"Run it every {steps} steps only"
