"""One number of all layers over the steps of a run: a grid, thinned to what a screen can show."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from torch_debugger.archive.run import Run
from torch_debugger.viewer.grids import UNMEASURED, steps_to_show
from torch_debugger.viewer.layers.looks import Look, gather
from torch_debugger.viewer.layers.models import Models
from torch_debugger.viewer.layers.numbers import Values

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
    layers = {layer: None for look in looks for layer in look.layers}
    shown = [layer for layer in layers if not root or models.root_of(layer) == root]
    return fill(looks, models.sorted_layers(shown, gathered.order))


def fill(looks: Sequence[Look], layers: list[str]) -> Grid:
    """Several looks at one step (of ranks, devices, optimizers) become one; no NaN is hidden by that."""
    rows = {layer: place for place, layer in enumerate(layers)}
    steps = sorted({look.step for look in looks if any(layer in rows for layer in look.layers)})
    columns = {step: place for place, step in enumerate(steps)}
    values = np.full((len(layers), len(steps)), UNMEASURED)
    for look in looks:
        known = [place for place, layer in enumerate(look.layers) if layer in rows]
        if known:
            places = [rows[look.layers[place]] for place in known]
            _enter(values[:, columns[look.step]], places, look.values[known])
    return Grid(layers, steps, values)


def _enter(column: Values, places: list[int], values: Values) -> None:
    before = column[places]
    column[places] = np.where((before == UNMEASURED) | ~np.isfinite(values), values, before)
