"""What must hold in every drawing, whoever computed it: nothing overlaps, lines end at their boxes."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.report.model_graph_boxes import GraphDrawing


class Rectangle(NamedTuple):
    name: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Rectangle, by: float = 0.5) -> bool:
        across = min(self.right, other.right) - max(self.left, other.left)
        return across > by and min(self.bottom, other.bottom) - max(self.top, other.top) > by

    def holds(self, other: Rectangle, slack: float = 0.5) -> bool:
        return (
            self.left - slack <= other.left
            and self.top - slack <= other.top
            and other.right <= self.right + slack
            and other.bottom <= self.bottom + slack
        )


class Drawn(NamedTuple):
    boxes: list[Rectangle]
    frames: list[Rectangle]
    lines: list[tuple[list[tuple[float, float, float]], bool]]  # points, and whether it ends at a box


def of_scene(scene: GraphDrawing) -> Drawn:
    def rectangle(box: Any) -> Rectangle:
        return Rectangle(box.part.key, box.x, box.y, box.x + box.width, box.y + box.height)

    lines = [([line.points[0], *line.turns()], line.arrow) for line in scene.lines]
    return Drawn([rectangle(box) for box in scene.boxes], [rectangle(box) for box in scene.frames], lines)


def of_page(scene: dict[str, Any]) -> Drawn:
    """As the page's own code gives it."""

    def rectangle(box: dict[str, Any]) -> Rectangle:
        left, top = box["x"], box["y"]
        return Rectangle(box["part"]["key"], left, top, left + box["width"], top + box["height"])

    lines = [([(x, a, b) for x, a, b in line["points"]], line["arrow"]) for line in scene["lines"]]
    return Drawn([*map(rectangle, scene["boxes"])], [*map(rectangle, scene["frames"])], lines)


def check(drawn: Drawn) -> None:
    for one, other in itertools.combinations(drawn.boxes, 2):
        assert not one.overlaps(other), (one, other)
    for one, other in itertools.combinations(drawn.frames, 2):
        assert not one.overlaps(other) or one.holds(other) or other.holds(one), (one, other)
    for box, frame in itertools.product(drawn.boxes, drawn.frames):
        assert not frame.overlaps(box) or frame.holds(box), (box, frame)
    boxes, frames = _sides(drawn.boxes), _sides(drawn.frames)
    for points, ends_at_box in drawn.lines:
        _check_line(points, ends_at_box, boxes, frames)


def _sides(rectangles: list[Rectangle]) -> NDArray[np.float64]:
    """[rectangles, 4, 1]: left, top, right, bottom"""
    return np.array([each[1:] for each in rectangles], dtype=np.float64).reshape(-1, 4, 1)


def _inside(sides: NDArray[np.float64], way: NDArray[np.float64], by: float) -> NDArray[np.bool_]:
    """[rectangles, points]: which points lie inside which, by so much at the least."""
    left, top, right, bottom = (sides[:, side] for side in range(4))
    x, y = way
    found: NDArray[np.bool_] = (left + by < x) & (x < right - by) & (top + by < y) & (y < bottom - by)
    return found


def _check_line(
    points: list[tuple[float, float, float]],
    ends_at_box: bool,
    boxes: NDArray[np.float64],
    frames: NDArray[np.float64],
) -> None:
    way = np.array(sampled(points)).T
    assert (np.diff(way[1]) >= 0).all(), "lines lead down"
    assert not _inside(boxes, way, 0.6).any(), "through a box"
    within, touching = _inside(frames, way, 0.6).any(axis=1), _inside(frames, way, -0.6).all(axis=1)
    assert (~within | touching).all(), "wholly inside a frame, or wholly outside"
    if ends_at_box:
        x, y = way[:, -1]
        left, top, right = (boxes[:, side, 0] for side in range(3))
        assert ((left < x) & (x < right) & (abs(top - y) < 0.6)).any(), "ends at no box"


def sampled(points: list[tuple[float, float, float]]) -> list[tuple[float, float]]:
    """Along the line: straight down at each point, a cubic curve to the next."""
    x, upper, lower = points[0]
    way = [(x, upper), (x, lower)]
    for x2, upper2, lower2 in points[1:]:
        middle = (lower + upper2) / 2
        for step in range(1, 9):
            t = step / 8
            a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3
            way.append(((a + b) * x + (c + d) * x2, a * lower + (b + c) * middle + d * upper2))
        way += [(x2, upper2 + (lower2 - upper2) * step / 8) for step in range(1, 9)]
        x, lower = x2, lower2
    return way
