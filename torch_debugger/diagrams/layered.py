"""Where the boxes of a layered drawing go: what something is made from stands above it.

The usual steps: rows, points in between for lines that pass a row, an order within each row that
crosses few lines, and columns that keep lines straight.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from statistics import fmean
from typing import NamedTuple

from torch_debugger.diagrams.columns import place_columns
from torch_debugger.diagrams.rows import rows_of

GAP_Y = 30.0
_NARROW_GAP_Y = 14.0  # beside a row that holds words or nothing
_LOW = 14.0
_BEND_WIDTH = 8.0
_ORDERINGS = 16


class Size(NamedTuple):
    width: float
    height: float
    anchor: float  # where its column passes, from its left edge
    thin: bool = False  # words on a line


def box_size(width: float, height: float) -> Size:
    return Size(width, height, width / 2)


class Link(NamedTuple):
    upper: int
    lower: int
    tensor: Hashable  # links of the same tensor from the same box share their way down


@dataclass
class Spot:
    """A box in its place, or a point that a line passes."""

    width: float
    height: float
    anchor: float
    thin: bool  # words on a line, or a bend
    row: int
    bend: bool = False
    x: float = 0.0  # of the anchor
    y: float = 0.0  # of the upper edge
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)


@dataclass
class Layout:
    spots: list[Spot]  # first the boxes, in their order
    ways: list[list[int]]  # for each link the spots from the upper box down to the lower
    rows: list[tuple[float, float]]  # upper and lower edge of each
    width: float
    height: float


def lay_out(
    sizes: Sequence[Size], links: Sequence[Link], *, first: Collection[int] = (), last: Collection[int] = ()
) -> Layout:
    """Boxes in `first` stand alone in the first row, those in `last` in the last."""
    row_of = rows_of(len(sizes), [(link.upper, link.lower) for link in links], first, last)
    spots = [Spot(*size, row) for size, row in zip(sizes, row_of, strict=True)]
    ways = _ways(spots, links)
    rows: list[list[int]] = [[] for _ in range(max((spot.row for spot in spots), default=-1) + 1)]
    for index, spot in enumerate(spots):
        rows[spot.row].append(index)
    _order(rows, spots)
    place_columns(rows, spots)
    edges = _place_y(rows, spots)
    width = max((spot.x - spot.anchor + spot.width for spot in spots), default=0.0)
    return Layout(spots, ways, edges, width, edges[-1][1] if edges else 0.0)


def _ways(spots: list[Spot], links: Sequence[Link]) -> list[list[int]]:
    bends: dict[tuple[int, Hashable, int], int] = {}  # by box, tensor and row
    joined: set[tuple[int, int]] = set()
    return [_way(spots, link, bends, joined) for link in links]


def _way(
    spots: list[Spot],
    link: Link,
    bends: dict[tuple[int, Hashable, int], int],
    joined: set[tuple[int, int]],
) -> list[int]:
    way = [link.upper]
    for row in range(spots[link.upper].row + 1, spots[link.lower].row):
        bend = bends.setdefault((link.upper, link.tensor, row), len(spots))
        if bend == len(spots):
            spots.append(Spot(_BEND_WIDTH, 0.0, _BEND_WIDTH / 2, True, row, bend=True))
        way.append(bend)
    way.append(link.lower)
    for upper, lower in itertools.pairwise(way):
        if (upper, lower) not in joined:
            joined.add((upper, lower))
            spots[upper].below.append(lower)
            spots[lower].above.append(upper)
    return way


def _order(rows: list[list[int]], spots: list[Spot]) -> None:
    """Each under the middle of its neighbours above, then over those below, and again; the best is kept."""
    best, fewest = [list(row) for row in rows], _crossings(rows, spots)
    for sweep in range(_ORDERINGS if fewest else 0):
        down = sweep % 2 == 0
        for fixed, row in itertools.pairwise(rows if down else rows[::-1]):
            place = {index: at for at, index in enumerate(fixed)}
            near = [spots[index].above if down else spots[index].below for index in row]
            wishes = [_middle(neighbours, place, at) for at, neighbours in enumerate(near)]
            row[:] = [index for _, index in sorted(zip(wishes, row, strict=True), key=itemgetter(0))]
        crossings = _crossings(rows, spots)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    rows[:] = best


def _middle(neighbours: list[int], place: dict[int, int], own: int) -> float:
    return fmean(place[each] for each in neighbours) if neighbours else float(own)


def _crossings(rows: list[list[int]], spots: list[Spot]) -> int:
    total = 0
    for upper, lower in itertools.pairwise(rows):
        place = {index: at for at, index in enumerate(lower)}
        passed: list[int] = []  # ends of the lines further left, sorted
        for end in (end for index in upper for end in sorted(place[each] for each in spots[index].below)):
            total += len(passed) - bisect.bisect_right(passed, end)
            bisect.insort(passed, end)
    return total


def _place_y(rows: list[list[int]], spots: list[Spot]) -> list[tuple[float, float]]:
    edges: list[tuple[float, float]] = []
    narrow = [all(spots[index].height <= _LOW for index in row) for row in rows]
    for at, row in enumerate(rows):
        gap = _NARROW_GAP_Y if at and (narrow[at] or narrow[at - 1]) else GAP_Y
        top = edges[-1][1] + gap if edges else 0.0
        tallest = max(spots[index].height for index in row)
        for index in row:
            spot = spots[index]
            if spot.bend:
                spot.height = tallest  # straight past the boxes beside it
            spot.y = top + (tallest - spot.height) / 2
        edges.append((top, top + tallest))
    return edges
