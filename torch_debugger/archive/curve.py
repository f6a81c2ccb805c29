"""One tag's scalars over a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Every point in the order in which it was written, or by step where several writers wrote at the same
    time; NaN and Inf are kept. Steps can repeat and go back."""

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


def merge(parts: list[Points]) -> Points:
    """One after the other; those that were written at the same time, by several writers, step by step."""
    groups: list[list[Points]] = []
    written_until = -np.inf
    for part in [part for part in parts if len(part.places)]:
        if groups and part.times.min() < written_until:
            groups[-1].append(part)
        else:
            groups.append([part])
        written_until = max(written_until, part.times.max())
    return join([_by_step(join(group)) if len(group) > 1 else group[0] for group in groups])


def _by_step(points: Points) -> Points:
    return points.chosen(np.lexsort((points.times, points.steps)))


def in_order(points: Points) -> Points:
    """As they stand in the file."""
    if (np.diff(points.places) >= 0).all():
        return points
    return points.chosen(np.argsort(points.places, kind="stable"))
