"""One tag's scalars over a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Every point in the order in which it was written; NaN and Inf are kept. Steps can repeat and go back."""

    steps: NDArray[np.int64]
    values: NDArray[np.float64]
    times: NDArray[np.float64]  # seconds since the epoch

    def __len__(self) -> int:
        return len(self.steps)


class Points(NamedTuple):
    """Points of one tag with the places in the file where they stand."""

    places: NDArray[np.int64]
    steps: NDArray[np.int64]
    values: NDArray[np.float64]
    times: NDArray[np.float64]

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Points:
        return Points(self.places[which], self.steps[which], self.values[which], self.times[which])


NO_POINTS = Points(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))


def join(parts: list[Points]) -> Points:
    """One after the other."""
    if len(parts) == 1:
        return parts[0]
    return Points(*map(np.concatenate, zip(*parts, strict=True))) if parts else NO_POINTS


def in_order(points: Points) -> Points:
    """As they stand in the file."""
    if (np.diff(points.places) >= 0).all():
        return points
    return points.chosen(np.argsort(points.places, kind="stable"))
