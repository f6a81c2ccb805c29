"""How far right each spot of a layered drawing stands: chains and long lines straight, parents over children.

Spots that shall be straight below each other form a column, which moves as one.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Protocol

GAP_X = 22.0
_THIN_GAP_X = 12.0
_SWEEPS = 24


class _Spot(Protocol):
    width: float
    anchor: float  # how far right of its left edge it is held by its x
    thin: bool  # words on a line, or a bend of one
    bend: bool
    x: float
    above: list[int]
    below: list[int]


def place_columns(rows: list[list[int]], spots: Sequence[_Spot]) -> None:
    _Placing(rows, spots, _columns(rows, spots)).place()


def _columns(rows: list[list[int]], spots: Sequence[_Spot]) -> list[int]:
    """The number of the column of each spot."""
    column = list(range(len(spots)))
    for upper, lower in itertools.pairwise(rows):
        for one, other in _straight(upper, lower, spots):
            column[other] = column[one]
    return column


def _straight(upper: list[int], lower: list[int], spots: Sequence[_Spot]) -> Iterator[tuple[int, int]]:
    """Pairs that stand below each other, none crossing another; bends choose first, then boxes and words."""
    place = {index: at for row in (upper, lower) for at, index in enumerate(row)}
    pairs = [(one, other) for one in upper for other in spots[one].below if _wants(one, other, spots, place)]
    chosen: list[tuple[int, int]] = []
    for one, other in sorted(pairs, key=lambda pair: -abs(spots[pair[0]].bend + spots[pair[1]].bend - 0.9)):
        here = place[one], place[other]
        if all((here[0] - a) * (here[1] - b) > 0 for a, b in chosen):
            chosen.append(here)
            yield one, other


def _wants(one: int, other: int, spots: Sequence[_Spot], place: dict[int, int]) -> bool:
    """Boxes go together where each is the middle one for the other: of two, neither is."""
    if spots[one].thin and spots[other].thin:
        return True
    among = _boxes(spots[one].below, spots, place), _boxes(spots[other].above, spots, place)
    return _is_middle(other, *among[:1], spots[other].thin) and _is_middle(one, *among[1:], spots[one].thin)


def _boxes(among: list[int], spots: Sequence[_Spot], place: dict[int, int]) -> list[int]:
    return sorted((each for each in among if not spots[each].thin), key=lambda each: place[each])


def _is_middle(index: int, boxes: list[int], thin: bool) -> bool:
    return not boxes if thin else len(boxes) % 2 == 1 and boxes[len(boxes) // 2] == index


class _Placing:
    def __init__(self, rows: list[list[int]], spots: Sequence[_Spot], column: list[int]) -> None:
        self._spots = spots
        self._column = column
        self._x: dict[int, float] = dict.fromkeys(column, 0.0)
        self._left: dict[int, dict[int, float]] = {each: {} for each in self._x}  # column and least distance
        self._right: dict[int, dict[int, float]] = {each: {} for each in self._x}
        for row in rows:
            for one, other in itertools.pairwise(row):
                self._keep_apart(one, other)
        self._near = self._neighbours()

    def place(self) -> None:
        order = self._left_to_right()
        for column in order:
            self._x[column] = self._earliest(column)
        for sweep in range(_SWEEPS):
            for column in order if sweep % 2 else reversed(order):
                self._x[column] = self._nearer(column)
        self._write()

    def _keep_apart(self, one: int, other: int) -> None:
        a, b = self._spots[one], self._spots[other]
        gap = _THIN_GAP_X if a.thin or b.thin else GAP_X
        distance = a.width - a.anchor + gap + b.anchor
        left, right = self._column[one], self._column[other]
        self._left[right][left] = max(distance, self._left[right].get(left, 0.0))
        self._right[left][right] = self._left[right][left]

    def _neighbours(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for index, spot in enumerate(self._spots):
            for other in spot.below:
                one, two = self._column[index], self._column[other]
                times = 1 if spot.thin or self._spots[other].thin else 2  # boxes pull more than bends
                if one != two:
                    found[one] += [two] * times
                    found[two] += [one] * times
        return found

    def _left_to_right(self) -> list[int]:
        missing = {column: len(left) for column, left in self._left.items()}
        ready = [column for column, count in missing.items() if not count]
        for column in ready:  # grows while it is walked through
            for right in self._right[column]:
                missing[right] -= 1
                if not missing[right]:
                    ready.append(right)
        return ready

    def _earliest(self, column: int) -> float:
        return max((self._x[left] + distance for left, distance in self._left[column].items()), default=0.0)

    def _nearer(self, column: int) -> float:
        """As near to the middle of its neighbours as those beside it allow."""
        near = self._near.get(column)
        if not near:
            return self._x[column]
        wish = median(self._x[each] for each in near)
        room = min((self._x[right] - gap for right, gap in self._right[column].items()), default=math.inf)
        least = max((self._x[left] + gap for left, gap in self._left[column].items()), default=-math.inf)
        return max(min(wish, room), least)

    def _write(self) -> None:
        left = min((self._x[self._column[i]] - s.anchor for i, s in enumerate(self._spots)), default=0.0)
        for index, spot in enumerate(self._spots):
            spot.x = self._x[self._column[index]] - left
