"""Histograms of one tag over the steps, on edges that they share: a picture with a column for each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive.media import Histogram

_ROWS = 48


def heat_of(histograms: Sequence[Histogram]) -> dict[str, Any]:
    """shares[column][row]: which part of a step's values lies between edges[row] and edges[row + 1]."""
    sound = [each for each in histograms if len(each.counts) and np.isfinite(each.counts).all()]
    ends = [
        (_finite(each.lefts).min(initial=np.inf), _finite(each.rights).max(initial=-np.inf)) for each in sound
    ]
    low = min((left for left, _ in ends), default=0.0)
    high = max((right for _, right in ends), default=1.0)
    if not np.isfinite(low) or not np.isfinite(high):
        low, high = 0.0, 1.0
    if high <= low:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, _ROWS + 1)
    return {
        "steps": [each.step for each in sound],
        "edges": edges.tolist(),
        "shares": [_shares(each, edges) for each in sound],
        "counts": [float(each.counts.sum()) for each in sound],
    }


def _shares(histogram: Histogram, edges: NDArray[np.float64]) -> list[float]:
    """A bucket's values are taken to be spread evenly over it; those of a single number lie in one row."""
    lefts = np.clip(histogram.lefts, edges[0], edges[-1])
    rights = np.clip(histogram.rights, edges[0], edges[-1])
    wide = rights > lefts
    starts = np.maximum(lefts[:, None], edges[None, :-1])
    stops = np.minimum(rights[:, None], edges[None, 1:])
    part = np.clip(stops - starts, 0, None) / np.where(wide, rights - lefts, 1.0)[:, None]
    rows = np.clip(np.searchsorted(edges, lefts[~wide], side="right") - 1, 0, _ROWS - 1)
    part[np.flatnonzero(~wide), rows] = 1.0
    total = float(histogram.counts.sum()) or 1.0
    return [round(float(share), 5) for share in (histogram.counts[:, None] * part).sum(0) / total]


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[np.isfinite(values)]
