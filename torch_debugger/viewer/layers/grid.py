"""One number of all layers over the steps of a run: a grid, thinned to what a screen can show."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive.run import Run
from torch_debugger.viewer.grids import UNMEASURED, steps_to_show
from torch_debugger.viewer.layers.looks import Look, gather
from torch_debugger.viewer.layers.models import Models
from torch_debugger.viewer.layers.numbers import Values

Places = NDArray[np.int64]
_MOST_STEPS = 300
_MOST_KEPT = 6


@dataclass(frozen=True)
class Grid:
    layers: list[str]
    steps: list[int]
    values: Values  # [layer, step]; UNMEASURED where nobody looked

    def between(self, first: float, last: float) -> Grid:
        chosen = [place for place, step in enumerate(self.steps) if first <= step <= last]
        return Grid(self.layers, [self.steps[place] for place in chosen], self.values[:, chosen])

    def thinned(self) -> Grid:
        chosen = steps_to_show(self.values, _MOST_STEPS)
        return Grid(self.layers, [self.steps[place] for place in chosen], self.values[:, chosen])


_KEPT: weakref.WeakKeyDictionary[Run, dict[tuple[float, str, str], Grid]] = weakref.WeakKeyDictionary()


def whole_grid(run: Run, number: str, root: str) -> Grid:
    """Every look, also of a run that is looked at again before anything was written."""
    kept = _KEPT.setdefault(run, {})
    key = (run.changed, number, root)
    if key not in kept:
        while len(kept) >= _MOST_KEPT:
            kept.pop(next(iter(kept)))
        kept[key] = _make(run, number, root)
    return kept[key]


def _make(run: Run, number: str, root: str) -> Grid:
    models, gathered = Models(run), gather(run, (number,))
    looks = gathered.looks.get(number, [])
    tables = {id(look.layers): look.layers for look in looks}
    layers = {layer: None for names in tables.values() for layer in names}
    shown = [layer for layer in layers if not root or models.root_of(layer) == root]
    return fill(looks, models.sorted_layers(shown, gathered.order))


def fill(looks: Sequence[Look], layers: list[str]) -> Grid:
    """Several looks at one step (of ranks, devices, optimizers) become one; no NaN is hidden by that."""
    rows = {layer: place for place, layer in enumerate(layers)}
    tables = {id(look.layers): look.layers for look in looks}
    places = {key: _places(names, rows) for key, names in tables.items()}
    shown = [(look, *places[id(look.layers)]) for look in looks if len(places[id(look.layers)][0])]
    steps = sorted({look.step for look, _, _ in shown})
    columns = {step: place for place, step in enumerate(steps)}
    values = np.full((len(layers), len(steps)), UNMEASURED)
    for look, known, where in shown:
        _enter(values[:, columns[look.step]], where, look.values[known])
    return Grid(layers, steps, values)


def _places(names: Sequence[str], rows: Mapping[str, int]) -> tuple[Places, Places]:
    """Which of the names are rows of the grid, and which rows they are."""
    known = [place for place, name in enumerate(names) if name in rows]
    return np.array(known, np.int64), np.array([rows[names[place]] for place in known], np.int64)


def _enter(column: Values, places: Places, values: Values) -> None:
    before = column[places]
    column[places] = np.where((before == UNMEASURED) | ~np.isfinite(values), values, before)
