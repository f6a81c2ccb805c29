"""The scalars of one event file, by tag; pieces are joined when a tag is asked for."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from torch_debugger.archive.curve import NO_POINTS, Points, in_order, join


class Columns:
    def __init__(self) -> None:
        self._first: dict[str, int] = {}  # the place of each tag's first point
        self._pieces: dict[str, list[Points]] = {}
        self._single: defaultdict[str, list[tuple[int, int, float, float]]] = defaultdict(list)

    @property
    def tags(self) -> list[str]:
        """In the order in which they were first seen."""
        return sorted(self._first, key=self._first.__getitem__)

    def __contains__(self, tag: str) -> bool:
        return tag in self._first

    def add(self, tag: str, points: Points) -> None:
        self._meet(tag, int(points.places[0]))
        self._pieces.setdefault(tag, []).append(points)

    def add_single(self, tag: str, place: int, step: int, value: float, time: float) -> None:
        self._meet(tag, place)
        self._single[tag].append((place, step, value, time))

    def _meet(self, tag: str, place: int) -> None:
        self._first[tag] = min(place, self._first.get(tag, place))

    def points(self, tag: str) -> Points:
        if tag in self._single:
            places, steps, values, times = zip(*self._single.pop(tag), strict=True)
            singles = Points(np.array(places), np.array(steps), np.array(values), np.array(times))
            self.add(tag, singles)
        pieces = self._pieces.get(tag)
        if pieces is None:
            return NO_POINTS
        if len(pieces) > 1:
            pieces[:] = [in_order(join(pieces))]
        return pieces[0]

    @property
    def last_step(self) -> int:
        ends = [int(points.steps.max()) for tag in self.tags if len((points := self.points(tag)).steps)]
        return max(ends, default=0)
