"""One curve as an SVG that needs no script: the range of each column, and a mark for what is not finite."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log.curves import Curve
from torch_debugger.log.run import Run
from torch_debugger.report.sentences import number
from torch_debugger.report.text import printable
from torch_debugger.viewer.questions import layer_grid

WIDTH, HEIGHT, _TOP = 560, 200, 16  # of the drawing, which is stretched to the width of the page
_COLUMNS = 280
_WIDE_RANGE = 1000.0  # from here on a linear axis shows little but its largest values


class PixelColumns(NamedTuple):
    """Of each column that holds anything, from left to right."""

    places: NDArray[np.int64]
    lowest: NDArray[np.float64]  # inf where nothing is finite
    highest: NDArray[np.float64]
    lost: NDArray[np.bool_]  # whether one of its values is not finite


class Axis(NamedTuple):
    low: float
    high: float
    is_log: bool

    def to_y(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.high <= self.low:
            return np.full_like(values, (HEIGHT + _TOP) / 2)
        low, high, shown = (np.log10(part) if self.is_log else part for part in (self.low, self.high, values))
        share = np.asarray((shown - low) / (high - low))
        return HEIGHT - share * (HEIGHT - _TOP)


def curve_figure(tag: str, curve: Curve, marked: Sequence[int] = ()) -> Markup:
    """`marked` are steps to point at: those at which a finding begins."""
    words = _words(curve)
    caption = element("figcaption", element("b", tag), " ", element("span", words, class_="quiet"))
    return element("figure", caption, _plot(tag, curve, marked), class_="still-curve")


def _plot(tag: str, curve: Curve, marked: Sequence[int]) -> Markup:
    """The labels are text beside the drawing, so that they stay as large as text when it is stretched."""
    first, last = int(curve.steps.min()), int(curve.steps.max())
    columns = columns_of(curve, first, last)
    finite = columns.lowest <= columns.highest
    axis = axis_of(columns.lowest[finite], columns.highest[finite])
    drawing = element(
        "svg",
        _marks(marked, first, last),
        element("path", d=line_of(columns, finite, axis), class_="still-line"),
        element("path", d=_crosses(columns), class_="still-notfinite"),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"The curve of {tag}",
    )
    return element("div", height_labels(axis), drawing, step_labels(first, last), class_="still-plot")


def columns_of(curve: Curve, first: int, last: int) -> PixelColumns:
    share = (curve.steps - first) / max(last - first, 1)
    column = np.minimum((share * _COLUMNS).astype(np.int64), _COLUMNS - 1)
    order = np.argsort(column, kind="stable")
    places, starts = np.unique(column[order], return_index=True)
    values = curve.values[order]
    finite = np.isfinite(values)
    lowest = np.minimum.reduceat(np.where(finite, values, np.inf), starts)
    highest = np.maximum.reduceat(np.where(finite, values, -np.inf), starts)
    return PixelColumns(places, lowest, highest, np.logical_or.reduceat(~finite, starts))


def axis_of(lowest: NDArray[np.float64], highest: NDArray[np.float64]) -> Axis:
    if not len(lowest):
        return Axis(0.0, 1.0, False)
    low, high = float(lowest.min()), float(highest.max())
    return Axis(low, high, low > 0 and high / low > _WIDE_RANGE)


def line_of(columns: PixelColumns, finite: NDArray[np.bool_], axis: Axis) -> str:
    """Down and up again in each column that holds several values; broken where none is finite."""
    path: list[str] = []
    pen = "M"
    bottoms, tops = (
        [f"{y:.1f}" for y in axis.to_y(np.where(finite, ends, axis.low)).tolist()]
        for ends in (columns.lowest, columns.highest)
    )
    for place, there, bottom, top in zip(_across(columns.places), finite.tolist(), bottoms, tops, strict=True):
        if there:
            path.append(f"{pen}{place} {bottom}" + (f"L{place} {top}" if top != bottom else ""))
        pen = "L" if there else "M"
    return "".join(path) + ("h.1" if len(path) == 1 else "")


def _across(places: NDArray[np.int64]) -> list[str]:
    return [f"{(place + 0.5) / _COLUMNS * WIDTH:g}" for place in places.tolist()]


def _crosses(columns: PixelColumns) -> str:
    """A small x above the curve for each column with a NaN or an infinity."""
    where = _across(columns.places[columns.lost])
    return "".join(f"M{x} 4m-3 0l6 7m0 -7l-6 7" for x in where)


def _marks(steps: Sequence[int], first: int, last: int) -> Markup:
    paths: list[Markup] = []
    for step in sorted({step for step in steps if first <= step <= last}):
        place = (step - first) / max(last - first, 1) * WIDTH
        name = element("title", f"step {step:,}")
        paths.append(element("path", name, d=f"M{place:.1f} {_TOP}V{HEIGHT}", class_="still-mark"))
    return together(*paths)


def height_labels(axis: Axis) -> Markup:
    labels = [number(axis.high), "log scale" if axis.is_log else "", number(axis.low)]
    shown = labels if axis.high > axis.low else ["", labels[0], ""]
    return element("div", *(element("span", label) for label in shown), class_="still-heights quiet")


def step_labels(first: int, last: int) -> Markup:
    ends = [element("span", f"step {first:,}"), element("span", f"step {last:,}")]
    return element("div", *ends, class_="still-steps quiet")


def _words(curve: Curve) -> str:
    """first 0.69 (step 1), lowest 0.02 (step 80), last 0.03 (step 96)"""
    finite = np.isfinite(curve.values)
    spots = {"first": 0, "lowest": int(np.where(finite, curve.values, np.inf).argmin()), "last": len(curve) - 1}
    parts = [
        f"{name} {number(float(curve.values[place]))} (step {int(curve.steps[place]):,})"
        for name, place in spots.items()
        if name != "lowest" or finite.any()
    ]
    lost = np.flatnonzero(~finite)
    if len(lost):
        step = int(curve.steps[lost].min())
        parts.append(f"{len(lost):,} of {len(curve):,} values not finite, the first at step {step:,}")
    return ", ".join(parts)


# Layers over steps as a table: a row a layer with its name, its colours over time, and its last number.

# kind, column, what it is
_SHOWN = (
    ("parameter", "grad_norm", "Gradient norm of each weight"),
    ("update", "ratio", "Update of each weight, relative to the weight"),
    ("activation", "std", "Spread (standard deviation) of each layer's output"),
)
_MOST_LAYERS = 60
_MOST_STEPS = 80
_CLASSES = 7  # as many colours as report_page.css has
Cell = float | str | None


def layer_figures(run: Run) -> list[Markup]:
    grids = ((title, layer_grid(run.rows(kind), column)) for kind, column, title in _SHOWN)
    return [_figure(title, grid) for title, grid in grids if grid["names"]]


def _figure(title: str, grid: dict[str, Any]) -> Markup:
    # The last of each stretch; a step with a number that is not finite was kept by the grid.
    count = len(grid["steps"])
    edges = [round(index * count / min(count, _MOST_STEPS)) for index in range(1, min(count, _MOST_STEPS) + 1)]
    chosen = [edge - 1 for edge in edges]
    rows = [[row[place] for place in chosen] for row in grid["values"][:_MOST_LAYERS]]
    known = sorted({cell for row in rows for cell in row if isinstance(cell, float) and cell > 0})
    low, high = (known[0], known[-1]) if known else (1.0, 1.0)
    lines = [_row(name, row, low, high) for name, row in zip(grid["names"], rows, strict=False)]
    caption = element("figcaption", element("b", title))
    table = element("table", _heading(grid["steps"]), element("tbody", *lines), class_="still-heat")
    more = grid["all_layers"] - _MOST_LAYERS
    left_out = element("p", f"{more:,} more rows are not drawn here.", class_="quiet") if more > 0 else None
    return element("figure", caption, table, left_out, _legend(low, high), class_="still-layers")


def _heading(steps: list[int]) -> Markup:
    span = element("span", f"step {steps[0]:,}"), element("span", f"step {steps[-1]:,}")
    cells = [
        element("th", "layer", scope="col"),
        element("th", element("div", *span, class_="still-steps"), scope="col"),
        element("th", "last", scope="col"),
    ]
    return element("thead", element("tr", *cells), class_="quiet")


def _row(name: str, row: list[Cell], low: float, high: float) -> Markup:
    last = next((cell for cell in reversed(row) if cell is not None), None)
    lost = sum(isinstance(cell, str) for cell in row)
    said = f"{lost} of {len(row)} not finite" if lost else None
    strip = element(
        "svg",
        *_boxes(row, low, high),
        viewBox=f"0 0 {len(row)} 1",
        preserveAspectRatio="none",
        role="img" if said else None,
        aria_label=said,
        aria_hidden=None if said else "true",
    )
    return element(
        "tr",
        element("th", element("span", name, title=name), scope="row"),
        element("td", strip),
        element("td", number(last) if last is not None else "not measured"),
    )


def _boxes(row: list[Cell], low: float, high: float) -> list[Markup]:
    """Neighbours of one colour are one box."""
    boxes: list[Markup] = []
    x = 0
    for colour, cells in itertools.groupby(row, key=lambda cell: _colour(cell, low, high)):
        length = len(list(cells))
        boxes += [element("path", d=f"M{x} 0h{length}v1h-{length}z", class_=colour)] if colour else []
        x += length
    return boxes


def _colour(cell: Cell, low: float, high: float) -> str:
    """A class of report_page.css; nothing for what was not measured."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return "still-lost"
    if cell <= 0:
        return "still-zero"
    share = math.log(cell / low) / math.log(high / low) if high > low else 0.0
    return f"still-heat-{min(int(share * _CLASSES), _CLASSES - 1)}"


def _legend(low: float, high: float) -> Markup:
    bounds = [low * (high / low) ** (place / _CLASSES) for place in range(_CLASSES)]
    entries = [(f"still-heat-{place}", f"from {bound:.2g}") for place, bound in enumerate(bounds)]
    entries = entries[:1] if low == high else entries
    entries += [("still-zero", "0 or less"), ("still-lost", "NaN or infinite")]
    shown: list[Markup] = []
    for colour, words in entries:
        path = element("path", d="M0 0h12v12h-12z", class_=colour)
        shown.append(element("span", element("svg", path, viewBox="0 0 12 12", aria_hidden="true"), words, " "))
    return element("p", *shown, class_="still-legend quiet")


# HTML in which nothing that came from a run can be anything but text.
class Markup(str):
    """What is HTML already. Every other text is escaped where it is put in."""

    __slots__ = ()


def element(tag: str, *children: str | None, **attributes: str | float | None) -> Markup:
    """<tag attribute="...">children</tag>; an attribute's underscores are hyphens, None leaves a thing out."""
    attribute_text = "".join(_attribute(name, value) for name, value in attributes.items() if value is not None)
    return Markup(f"<{tag}{attribute_text}>{together(*children)}</{tag}>")


def together(*children: str | None, between: str = "") -> Markup:
    return Markup(between.join(_safe(child) for child in children if child is not None))


def _attribute(name: str, value: str | float) -> str:
    text = html.escape(printable(value)) if isinstance(value, str) else f"{value:g}"
    return f' {name.rstrip("_").replace("_", "-")}="{text}"'


def _safe(child: str) -> str:
    """Characters that steer or reorder text are written out, so that a name cannot look like another."""
    return child if isinstance(child, Markup) else html.escape(printable(child))
