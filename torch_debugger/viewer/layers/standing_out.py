"""What stands out among the numbers of layers: counts in words; judging is the checks' business."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from torch_debugger.viewer.grids import UNMEASURED
from torch_debugger.viewer.layers.grid import Grid
from torch_debugger.viewer.layers.numbers import Values

Chosen = NDArray[np.bool_]

_NAMED = 3  # layers in one sentence
_APART = 1e4  # the largest of all layers over the smallest
_GROWN = 10.0
# By number: what many share, and how it is said.
_HIGH = {
    "activation.zeros": (0.9, "put out more than 90 % zeros"),
    "saturation": (0.9, "keep the sigmoid or tanh behind them at its limits for more than 90 % of the values"),
    "update.ratio": (0.1, "were moved by more than 10 % of their size by one update"),
}
_LOW = {
    "headroom.own": (2.0, "are within two doublings of what their type can hold"),
    "headroom.float16": (0.0, "put out numbers that float16 cannot hold (above 65504)"),
    "depth.float16": (0.0, "get gradients that float16 would make zero (below 6e-8)"),
}
_ZERO = {
    "activation.std": "put out one and the same number everywhere",
    "gradient.size": "get a gradient of exactly zero",
    "parameter.gradient": "have a gradient of exactly zero",
    "update.ratio": "were not moved by the update",
}
_COMPARED = {"activation.std": "deviation of outputs", "gradient.size": "gradient of outputs"}


def what_stands_out(number: str, grid: Grid) -> list[str]:
    """Sentences; none where nothing does."""
    if not grid.steps or not grid.layers:
        return []
    last = last_looks(grid)
    known = np.isfinite(last) & (last != UNMEASURED)
    said = [_not_finite(grid), *_beyond(number, grid, last, known)]
    if number in _COMPARED:
        said.append(_far_apart(_COMPARED[number], grid, last, known))
    if number == "parameter.weight":
        said.append(_grown(grid, last, known))
    return [sentence for sentence in said if sentence]


def last_looks(grid: Grid) -> Values:
    """The last number of each layer."""
    seen = grid.values != UNMEASURED
    place = grid.values.shape[1] - 1 - seen[:, ::-1].argmax(axis=1)
    return np.asarray(grid.values[np.arange(len(grid.layers)), place])


def _beyond(number: str, grid: Grid, last: Values, known: Chosen) -> list[str]:
    said = []
    if number in _HIGH:
        limit, words = _HIGH[number]
        said.append(_count(grid, known & (last > limit), known, words))
    if number in _LOW:
        limit, words = _LOW[number]
        said.append(_count(grid, known & (last < limit), known, words))
    if number in _ZERO:
        said.append(_count(grid, known & (last == 0), known, _ZERO[number]))
    return said


def _count(grid: Grid, those: Chosen, of: Chosen, words: str) -> str:
    count = int(those.sum())
    if not count:
        return ""
    names = [grid.layers[place] for place in np.flatnonzero(those)]
    return f"{count} of {int(of.sum())} layers {words} at the last look: {named(names)}."


def _not_finite(grid: Grid) -> str:
    bad = ~np.isfinite(grid.values)
    if not bad.any():
        return ""
    column = int(bad.any(axis=0).argmax())
    names = [grid.layers[place] for place in np.flatnonzero(bad[:, column])]
    count, first = int(bad.any(axis=1).sum()), grid.steps[column]
    where = f"{count} of {len(grid.layers)} layers"
    return f"This number is NaN or infinite in {where}, first at step {first} in {named(names)}."


def _far_apart(what: str, grid: Grid, last: Values, known: Chosen) -> str:
    """Between the largest and the smallest layer; zeros have a sentence of their own."""
    places = np.flatnonzero(known & (last > 0))
    if len(places) < 2:
        return ""
    top, bottom = places[last[places].argmax()], places[last[places].argmin()]
    if last[top] / last[bottom] < _APART:
        return ""
    ends = f"from {last[top]:.2g} ({grid.layers[top]}) to {last[bottom]:.2g} ({grid.layers[bottom]})"
    return f"The {what} reaches {ends} at the last look."


def _grown(grid: Grid, last: Values, known: Chosen) -> str:
    first = grid.values[np.arange(len(grid.layers)), (grid.values != UNMEASURED).argmax(axis=1)]
    with np.errstate(divide="ignore", invalid="ignore"):
        those = known & (first > 0) & (last > _GROWN * first)
    words = f"have grown to more than {_GROWN:.0f} times the size they had at step {grid.steps[0]}"
    return _count(grid, those, known, words).replace(" at the last look", "")


def named(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"
