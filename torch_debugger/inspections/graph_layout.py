"""Where the boxes of a layered drawing go: the loss at the bottom, what it is made from above it.

The usual four steps: layers by the longest way from the loss, points in between for edges that pass
a layer, an order within each layer that crosses few edges, and places near those of the neighbours.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from statistics import fmean

from torch_debugger.inspections.graph_boxes import Box

GAP_X, GAP_Y = 22.0, 34.0
_BEND_WIDTH = 8.0
_ORDERINGS, _PLACINGS = 12, 60


@dataclass
class Spot:
    """A box in its place, or a point that an edge passes."""

    width: float
    height: float
    layer: int
    box: int | None = None
    x: float = 0.0  # of the middle
    y: float = 0.0  # of the upper edge
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)


@dataclass
class Layout:
    spots: list[Spot]  # first the boxes, in their order
    edges: list[list[int]]  # spots from an operand down to its user
    width: float = 0.0
    height: float = 0.0


def lay_out(boxes: Sequence[Box], sizes: Sequence[tuple[float, float]]) -> Layout:
    layers = _layers(boxes)
    spots = [Spot(width, height, layers[index], index) for index, (width, height) in enumerate(sizes)]
    layout = Layout(spots, [])
    for user, box in enumerate(boxes):
        for operand in box.operands:
            layout.edges.append(_edge(spots, operand, user))
    rows: list[list[int]] = [[] for _ in range(max(layers) + 1)]
    for index, spot in enumerate(spots):
        rows[spot.layer].append(index)
    _order(rows, spots)
    _place_x(rows, spots)
    _place_y(rows, layout)
    return layout


def _layers(boxes: Sequence[Box]) -> list[int]:
    """0 at the top; each operand above all of its users."""
    distance = [0] * len(boxes)
    for index in _users_first(boxes):
        for operand in boxes[index].operands:
            distance[operand] = max(distance[operand], distance[index] + 1)
    return [max(distance) - each for each in distance]


def _users_first(boxes: Sequence[Box]) -> list[int]:
    users = [0] * len(boxes)
    for box in boxes:
        for operand in box.operands:
            users[operand] += 1
    ready = [index for index, count in enumerate(users) if not count]
    for index in ready:  # grows while it is walked through
        for operand in boxes[index].operands:
            users[operand] -= 1
            if not users[operand]:
                ready.append(operand)
    return ready


def _edge(spots: list[Spot], operand: int, user: int) -> list[int]:
    way = [operand]
    for layer in range(spots[operand].layer + 1, spots[user].layer):
        spots.append(Spot(_BEND_WIDTH, 0.0, layer))
        way.append(len(spots) - 1)
    way.append(user)
    for upper, lower in itertools.pairwise(way):
        spots[upper].below.append(lower)
        spots[lower].above.append(upper)
    return way


def _order(rows: list[list[int]], spots: list[Spot]) -> None:
    """Each under the middle of its neighbours above, then over those below, and again; the best is kept."""
    best, fewest = [list(row) for row in rows], _crossings(rows, spots)
    for sweep in range(_ORDERINGS):
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
        passed: list[int] = []  # ends of the edges further left, sorted
        for end in (end for index in upper for end in sorted(place[each] for each in spots[index].below)):
            total += len(passed) - bisect.bisect_right(passed, end)
            bisect.insort(passed, end)
    return total


def _place_x(rows: list[list[int]], spots: list[Spot]) -> None:
    for row in rows:
        _spread(row, spots, [spots[index].x for index in row])
    for sweep in range(_PLACINGS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            _spread(row, spots, [_wish(spots[index], spots) for index in row])
    left = min(spot.x - spot.width / 2 for spot in spots)
    for spot in spots:
        spot.x -= left


def _wish(spot: Spot, spots: list[Spot]) -> float:
    near = spot.above + spot.below
    return sum(spots[each].x for each in near) / len(near) if near else spot.x


def _spread(row: list[int], spots: list[Spot], wishes: list[float]) -> None:
    """As near to the wishes as boxes allow that must not touch: those that collide move as one."""
    offsets = _offsets(row, spots)
    blocks: list[tuple[float, int]] = []  # wishes for the left end added up, and how many
    for wish, offset in zip(wishes, offsets, strict=True):
        blocks.append((wish - offset, 1))
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            blocks[-2:] = [(blocks[-2][0] + blocks[-1][0], blocks[-2][1] + blocks[-1][1])]
    ends = [total / members for total, members in blocks for _ in range(members)]
    for index, end, offset in zip(row, ends, offsets, strict=True):
        spots[index].x = end + offset


def _offsets(row: list[int], spots: list[Spot]) -> list[float]:
    """How far each spot must be from the first, at the least."""
    found = [0.0] * len(row)
    for at in range(1, len(row)):
        near = (spots[row[at - 1]].width + spots[row[at]].width) / 2
        found[at] = found[at - 1] + near + GAP_X
    return found


def _place_y(rows: list[list[int]], layout: Layout) -> None:
    y = 0.0
    for row in rows:
        tallest = max((layout.spots[index].height for index in row), default=0.0)
        for index in row:
            spot = layout.spots[index]
            if spot.box is None:
                spot.height = tallest  # straight past the boxes beside it
            spot.y = y + (tallest - spot.height) / 2
        y += tallest + GAP_Y
    layout.height = y - GAP_Y
    layout.width = max(spot.x + spot.width / 2 for spot in layout.spots)
