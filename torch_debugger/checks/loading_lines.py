"""Which lines of the user's a wait for data is spent in, where the training process loads it itself."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.checks.loading import Loading
from torch_debugger.checks.state import RunState
from torch_debugger.records import Place

_LEAST_LOOKS = 3


@dataclass(frozen=True)
class WaitLine:
    place: Place
    share: float  # of the time in which data is waited for


def lines_to_judge(state: RunState, loading: Loading) -> list[WaitLine] | None:
    """From the outermost inwards; None where workers load, or too few batches were looked at."""
    looked = state.loading_lines.get(loading.fact.number)
    if looked is None or loading.fact.workers or looked.looks < _LEAST_LOOKS or looked.seconds <= 0:
        return None
    return [WaitLine(line.place, min(1.0, line.seconds / looked.seconds)) for line in looked.lines]


def slow_line(state: RunState, loading: Loading, least_share: float = 0.6) -> WaitLine | None:
    """The innermost line that most of the wait is spent in, or below; None where none stands out."""
    lines = lines_to_judge(state, loading) or []
    large = [line for line in lines if line.share >= least_share]
    return large[-1] if large else None


def words_of_line(state: RunState, loading: Loading) -> str:
    line = slow_line(state, loading)
    return f", {line.share:.0%} of that time in {told(line.place)}" if line is not None else ""


def told(place: Place) -> str:
    return f"`{place.code}` at {place.file}:{place.line}" if place.code else f"{place.file}:{place.line}"
