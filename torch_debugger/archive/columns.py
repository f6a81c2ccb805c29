"""The scalars of one event file, by tag; pieces are joined when a tag is asked for."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive.curve import NO_POINTS, Points, in_order, join
from torch_debugger.archive.spill import POINT_BYTES, Spill, Spilled

FIRST_DATE = 1e9  # seconds since the epoch: in 2001, before there was anything to log with


class Span:
    """From the smallest to the largest of what it was shown."""

    def __init__(self) -> None:
        self.first, self.last = np.inf, -np.inf

    def include(self, times: NDArray[np.float64]) -> None:
        if len(times):
            self.first, self.last = min(self.first, float(times.min())), max(self.last, float(times.max()))


class Columns:
    """The furthest step and the times are kept beside: asking for them joins nothing. Beyond some size, what
    comes goes to a file of its own, and is read from there each time it is asked for."""

    MOST_IN_MEMORY = 128_000_000  # bytes, of one event file

    def __init__(self) -> None:
        self._first: dict[str, int] = {}  # the place of each tag's first point
        self._pieces: dict[str, list[Points]] = {}
        self._spilled: dict[str, list[Spilled]] = {}
        self._spill: Spill | None = None
        self._in_memory = 0  # bytes
        self._single: defaultdict[str, list[tuple[int, int, float, float]]] = defaultdict(list)
        self.last_step = 0
        self.dates, self.other_times = Span(), Span()

    @property
    def tags(self) -> list[str]:
        """In the order in which they were first seen."""
        return sorted(self._first, key=self._first.__getitem__)

    def __contains__(self, tag: str) -> bool:
        return tag in self._first

    def add(self, tag: str, points: Points) -> None:
        self._meet(tag, int(points.places[0]))
        self._keep(tag, points)
        self.last_step = max(self.last_step, int(points.steps.max()))
        self._meet_times(points.times)

    def add_single(self, tag: str, place: int, step: int, value: float, time: float) -> None:
        self._meet(tag, place)
        self._single[tag].append((place, step, value, time))
        self.last_step = max(self.last_step, step)
        self._meet_times(np.array([time]))

    def _keep(self, tag: str, points: Points) -> None:
        if self._in_memory < self.MOST_IN_MEMORY:
            self._in_memory += len(points.places) * POINT_BYTES
            self._pieces.setdefault(tag, []).append(points)
        else:
            self._spill = self._spill or Spill()
            self._spilled.setdefault(tag, []).append(self._spill.keep(points))

    def _meet_times(self, times: NDArray[np.float64]) -> None:
        are_dates = times >= FIRST_DATE
        if are_dates.all():
            self.dates.include(times)
        else:
            self.dates.include(times[are_dates])
            self.other_times.include(times[~are_dates])

    def _meet(self, tag: str, place: int) -> None:
        self._first[tag] = min(place, self._first.get(tag, place))

    def points(self, tag: str) -> Points:
        if tag in self._single:
            places, steps, values, times = zip(*self._single.pop(tag), strict=True)
            singles = Points(np.array(places), np.array(steps), np.array(values), np.array(times))
            self._keep(tag, singles)
        pieces = self._pieces.get(tag, [])
        if len(pieces) > 1:
            pieces[:] = [in_order(join(pieces))]
        if self._spill is None or tag not in self._spilled:
            return pieces[0] if pieces else NO_POINTS
        return in_order(join([*pieces, *map(self._spill.read, self._spilled[tag])]))
