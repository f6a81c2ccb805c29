"""Layers over steps as a table: a row a layer with its name, its colours over time, and its last number."""

from __future__ import annotations

import itertools
import math
from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.report.sentences import number
from torch_debugger.viewer.grids import layer_grid
from torch_debugger.viewer.still.markup import Markup, element

# kind, column, what it is
_SHOWN = (
    ("parameter", "grad_norm", "Gradient norm of each weight"),
    ("update", "ratio", "Update of each weight, relative to the weight"),
    ("activation", "std", "Spread (standard deviation) of each layer's output"),
)
_MOST_LAYERS = 60
_MOST_STEPS = 80
_CLASSES = 7  # as many colours as still.css has
Cell = float | str | None


def layer_figures(run: Run) -> list[Markup]:
    grids = ((title, layer_grid(run.rows(kind), column)) for kind, column, title in _SHOWN)
    return [_figure(title, grid) for title, grid in grids if grid["names"]]


def _figure(title: str, grid: dict[str, Any]) -> Markup:
    chosen = _spread(len(grid["steps"]))
    rows = [[row[place] for place in chosen] for row in grid["values"][:_MOST_LAYERS]]
    known = sorted({cell for row in rows for cell in row if isinstance(cell, float) and cell > 0})
    low, high = (known[0], known[-1]) if known else (1.0, 1.0)
    lines = [_row(name, row, low, high) for name, row in zip(grid["names"], rows, strict=False)]
    caption = element("figcaption", element("b", title))
    table = element("table", _heading(grid["steps"]), element("tbody", *lines), class_="still-heat")
    return element("figure", caption, table, _left_out(grid), _legend(low, high), class_="still-layers")


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


def _spread(count: int) -> list[int]:
    """The last of each stretch; a step with a number that is not finite was kept by the grid."""
    edges = [round(index * count / min(count, _MOST_STEPS)) for index in range(1, min(count, _MOST_STEPS) + 1)]
    return [edge - 1 for edge in edges]


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
    """A class of still.css; nothing for what was not measured."""
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
    return element("p", *(_entry(colour, words) for colour, words in entries), class_="still-legend quiet")


def _entry(colour: str, words: str) -> Markup:
    box = element(
        "svg", element("path", d="M0 0h12v12h-12z", class_=colour), viewBox="0 0 12 12", aria_hidden="true"
    )
    return element("span", box, words, " ")


def _left_out(grid: dict[str, Any]) -> Markup | None:
    more = grid["all_layers"] - _MOST_LAYERS
    return element("p", f"{more:,} more rows are not drawn here.", class_="quiet") if more > 0 else None
