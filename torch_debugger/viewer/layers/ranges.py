"""The range of numbers that the colours of a map cover: one odd cell does not bleach the rest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from torch_debugger.viewer.grids import UNMEASURED
from torch_debugger.viewer.layers.numbers import Values

_EDGES = (2.0, 98.0)  # percentiles
_DECADES = 1.5  # from here on a scale is logarithmic


@dataclass(frozen=True)
class Range:
    form: str  # linear | log | diverging
    low: float
    high: float
    below: int = 0  # finite cells outside: drawn in the colour of the end
    above: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def range_of(values: Values, scale: str) -> Range | None:
    """None where no cell has a finite number."""
    known = values[np.isfinite(values) & (values != UNMEASURED)]
    if not len(known):
        return None
    form, low, high = _ends(known, scale)
    slack = 1e-9 * (high - low)  # of the way there and back through logarithms
    below, above = int((known < low - slack).sum()), int((known > high + slack).sum())
    return Range(form, low, high, below, above)


def _ends(known: Values, scale: str) -> tuple[str, float, float]:
    if scale == "share":
        return "linear", 0.0, 1.0
    if scale == "bits" and (known > 0).all():
        low, high = _robust(known)
        return "linear", low, high if high > low else low + 1
    if scale in ("signed", "bits"):
        far = _robust(np.abs(known))[1] or 1.0
        return "diverging", -far, far
    positive = known[known > 0]
    if not len(positive):
        return "linear", 0.0, 1.0
    low, high = (float(np.exp(end)) for end in _robust(np.log(positive)))
    if high / low >= 10**_DECADES:
        return "log", low, high
    return ("linear", low, high) if high > low else ("linear", 0.0, 2 * high)


def _robust(values: Values) -> tuple[float, float]:
    """All of them, unless the outermost few would take up more than half of the range."""
    low, high = (float(end) for end in np.percentile(values, _EDGES))
    least, most = float(values.min()), float(values.max())
    return (least, most) if most - least <= 2 * (high - low) or high == low else (low, high)
