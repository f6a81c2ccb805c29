"""Advice on speed: what it would save, and how loudly that is said."""

from __future__ import annotations

LEAST_GAIN = 0.05  # of the time of a step: below, advice is not worth an edit
WARNED_GAIN = 0.2


def severity_of(gain: float) -> str | None:
    """`gain` is the share of a step's time (or of its memory) that the edit saves; None: say nothing."""
    if gain < LEAST_GAIN:
        return None
    return "warning" if gain >= WARNED_GAIN else "note"


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def expected(gain: float, step_s: float) -> str:
    """The last sentence of a fix."""
    return f"Expected to save about {100 * gain:.0f} % of each step ({milliseconds(gain * step_s)})."
