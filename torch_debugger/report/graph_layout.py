"""Where the boxes and lines of a model's graph go: plain data in, places out; model_graph_scene.js opens them."""

from __future__ import annotations

import bisect
import html
import itertools
import math
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from statistics import fmean, median
from typing import NamedTuple

# Where the boxes of a layered drawing go: what something is made from stands above it.
#
# The usual steps: rows, points in between for lines that pass a row, an order within each row that crosses few lines,
# and columns that keep lines straight.
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
    _place_columns(rows, spots)
    edges = _place_y(rows, spots)
    width = max((spot.x - spot.anchor + spot.width for spot in spots), default=0.0)
    return Layout(spots, ways, edges, width, edges[-1][1] if edges else 0.0)


def _ways(spots: list[Spot], links: Sequence[Link]) -> list[list[int]]:
    bends: dict[tuple[int, Hashable, int], int] = {}  # by box, tensor and row
    joined: set[tuple[int, int]] = set()
    ways = []
    for link in links:
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
        ways.append(way)
    return ways


def _order(rows: list[list[int]], spots: list[Spot]) -> None:
    """Each under the middle of its neighbours above, then over those below, and again; the best is kept."""
    best, fewest = [list(row) for row in rows], _crossings(rows, spots)
    for sweep in range(_ORDERINGS if fewest else 0):
        down = sweep % 2 == 0
        for fixed, row in itertools.pairwise(rows if down else rows[::-1]):
            place = {index: at for at, index in enumerate(fixed)}
            centers = []
            for at, index in enumerate(row):
                neighbours = spots[index].above if down else spots[index].below
                centers.append(fmean(place[each] for each in neighbours) if neighbours else float(at))
            row[:] = [index for _, index in sorted(zip(centers, row, strict=True), key=itemgetter(0))]
        crossings = _crossings(rows, spots)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    rows[:] = best


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


# Which row of a layered drawing each box stands in: below all it is made from, with short lines.
_SWEEPS = 8


def rows_of(count: int, links: Sequence[tuple[int, int]], first: Collection[int], last: Collection[int]) -> list[int]:
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in dict.fromkeys(links):
        above[lower].append(upper)
        below[upper].append(lower)
    order = _makers_first(dict(enumerate(map(len, above))), dict(enumerate(below)))
    highest = 1 if first else 0
    row = [0] * count
    for index in order:
        floor = 0 if index in first else highest
        row[index] = max([floor, *(row[upper] + 1 for upper in above[index])])
    lowest = max([highest, *(row[index] + 1 for index in order if index not in last)])
    for index in last:
        row[index] = lowest
    pinned = {*first, *last}
    free = [index for index in order if index not in pinned]
    for sweep in range(_SWEEPS):
        for index in free if sweep % 2 else reversed(free):
            row[index] = _nearer(row, index, above[index], below[index], highest)
    number = {old: new for new, old in enumerate(sorted(set(row)))}
    return [number[old] for old in row]


def _nearer(row: list[int], index: int, above: list[int], below: list[int], highest: int) -> int:
    """Where most of its lines are shortest."""
    top = max([highest, *(row[upper] + 1 for upper in above)])
    bottom = min([row[lower] - 1 for lower in below], default=top)
    if len(below) == len(above):
        return row[index]
    return bottom if len(below) > len(above) else top


def _makers_first(missing: dict[int, int], following: Mapping[int, Iterable[int]]) -> list[int]:
    """Each after all that it follows; `missing` says how many those are."""
    ready = [each for each, count in missing.items() if not count]
    for each in ready:  # grows while it is walked through
        for other in following[each]:
            missing[other] -= 1
            if not missing[other]:
                ready.append(other)
    return ready


# How far right each spot of a layered drawing stands: chains and long lines straight, parents over children.
#
# Spots that shall be straight below each other form a column, which moves as one.
GAP_X = 22.0
_THIN_GAP_X = 12.0
_COLUMN_SWEEPS = 24


def _place_columns(rows: list[list[int]], spots: Sequence[Spot]) -> None:
    # The number of the column of each spot.
    column = list(range(len(spots)))
    for upper, lower in itertools.pairwise(rows):
        for one, other in _straight(upper, lower, spots):
            column[other] = column[one]
    _Placing(rows, spots, column).place()


def _straight(upper: list[int], lower: list[int], spots: Sequence[Spot]) -> Iterator[tuple[int, int]]:
    """Pairs that stand below each other, none crossing another; bends choose first, then boxes and words."""
    place = {index: at for row in (upper, lower) for at, index in enumerate(row)}

    def is_middle(index: int, among: list[int]) -> bool:
        boxes = sorted((each for each in among if not spots[each].thin), key=lambda each: place[each])
        return not boxes if spots[index].thin else len(boxes) % 2 == 1 and boxes[len(boxes) // 2] == index

    def belong_together(one: int, other: int) -> bool:
        """Boxes do where each is the middle one for the other: of two, neither is."""
        if spots[one].thin and spots[other].thin:
            return True
        return is_middle(other, spots[one].below) and is_middle(one, spots[other].above)

    pairs = [(one, other) for one in upper for other in spots[one].below if belong_together(one, other)]
    chosen: list[tuple[int, int]] = []
    for one, other in sorted(pairs, key=lambda pair: -abs(spots[pair[0]].bend + spots[pair[1]].bend - 0.9)):
        here = place[one], place[other]
        if all((here[0] - a) * (here[1] - b) > 0 for a, b in chosen):
            chosen.append(here)
            yield one, other


class _Placing:
    def __init__(self, rows: list[list[int]], spots: Sequence[Spot], column: list[int]) -> None:
        self._spots = spots
        self._column = column
        self._x: dict[int, float] = dict.fromkeys(column, 0.0)
        self._left: dict[int, dict[int, float]] = {each: {} for each in self._x}  # column and least distance
        self._right: dict[int, dict[int, float]] = {each: {} for each in self._x}
        for row in rows:
            for one, other in itertools.pairwise(row):
                a, b = spots[one], spots[other]
                distance = a.width - a.anchor + (_THIN_GAP_X if a.thin or b.thin else GAP_X) + b.anchor
                left, right = column[one], column[other]
                self._left[right][left] = max(distance, self._left[right].get(left, 0.0))
                self._right[left][right] = self._left[right][left]
        self._near: dict[int, list[int]] = defaultdict(list)  # neighbours above and below
        for index, spot in enumerate(spots):
            for below in spot.below:
                upper, lower = column[index], column[below]
                times = 1 if spot.thin or spots[below].thin else 2  # boxes pull more than bends
                if upper != lower:
                    self._near[upper] += [lower] * times
                    self._near[lower] += [upper] * times

    def place(self) -> None:
        order = _makers_first({each: len(left) for each, left in self._left.items()}, self._right)
        for column in order:
            self._x[column] = max((self._x[left] + gap for left, gap in self._left[column].items()), default=0.0)
        for sweep in range(_COLUMN_SWEEPS):
            for column in order if sweep % 2 else reversed(order):
                self._x[column] = self._nearer(column)
        left = min((self._x[self._column[i]] - s.anchor for i, s in enumerate(self._spots)), default=0.0)
        for index, spot in enumerate(self._spots):
            spot.x = self._x[self._column[index]] - left

    def _nearer(self, column: int) -> float:
        """As near to the middle of its neighbours as those beside it allow."""
        near = self._near.get(column)
        if not near:
            return self._x[column]
        center = median(self._x[each] for each in near)
        room = min((self._x[right] - gap for right, gap in self._right[column].items()), default=math.inf)
        least = max((self._x[left] + gap for left, gap in self._left[column].items()), default=-math.inf)
        return max(min(center, room), least)


# How wide a text will be, without a font to ask: a little wider than any common one draws it.
_WIDTHS = (  # in parts of the letter size, by DejaVu Sans, the widest that is common
    (" .,:;'|!ijlI[]()", 0.36),
    ('ftr-/\\"{}', 0.43),
    ("mwMW@%", 0.98),
    ("ABCDEFGHJKLNOPQRSTUVXYZ_&<>=+~#", 0.76),
)
_WIDTH = {letter: width for letters, width in _WIDTHS for letter in letters}
_OTHER = 0.64
_BOLD = 1.1


def text_width(text: str, size: float, bold: bool = False) -> float:
    widths = (
        _WIDTH.get(letter) or (1.05 if unicodedata.east_asian_width(letter) in "WF" else _OTHER) for letter in text
    )
    return sum(widths) * size * (_BOLD if bold else 1.0)


def shortened(text: str, most: int) -> str:
    """Both ends of a long text."""
    if len(text) <= most:
        return text
    kept = most - 3
    return f"{text[: kept - kept // 2]}...{text[-(kept // 2) :]}"


def escaped(text: str) -> str:
    """For SVG and HTML."""
    return html.escape(visible(text))


def visible(text: str) -> str:
    """XML and terminals take no control characters, and a module may be named after one."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
