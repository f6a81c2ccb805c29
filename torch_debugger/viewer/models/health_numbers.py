"""The numbers of layers as colours of a model's drawing; norms of weights count for all that holds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from torch_debugger.archive.run import Run
from torch_debugger.viewer.grids import UNMEASURED, as_json, steps_to_show
from torch_debugger.viewer.layers.grid import whole_grid
from torch_debugger.viewer.layers.looks import NUMBERS
from torch_debugger.viewer.layers.numbers import Values
from torch_debugger.viewer.questions.layers import choices

_MOST_STEPS = 120
_NORMS = ("parameter.gradient", "parameter.weight")


def numbers_of(run: Run, root: str) -> list[dict[str, str]]:
    """Those that were measured for this model."""
    measured = [each for each in choices(run)["numbers"] if root in each["models"]]
    return [{"key": each["key"], "title": each["title"], "says": each["says"]} for each in measured]


def health_of(run: Run, root: str, key: str) -> dict[str, Any]:
    """values[module][step] with null where a module was not measured."""
    number, grid = NUMBERS[key], whole_grid(run, key, root)
    chosen = steps_to_show(grid.values, _MOST_STEPS)
    modules, values = grid.layers, grid.values[:, chosen]
    if key in _NORMS:
        modules, values = with_holders(modules, values, root)
    return {
        "key": key,
        "title": number.title,
        "says": number.says,
        "steps": [grid.steps[place] for place in chosen],
        "modules": modules,
        "values": [[_short(value) for value in row] for row in values.tolist()],
    }


def with_holders(layers: list[str], values: Values, root: str) -> tuple[list[str], Values]:
    """The norm of all that a module holds, as far as it was measured."""
    places: dict[str, list[int]] = {}
    for place, layer in enumerate(layers):
        for module in _around(layer, root):
            places.setdefault(module, []).append(place)
    return list(places), np.array([_norm(values[inside]) for inside in places.values()])


def _norm(values: Values) -> Values:
    known = values != UNMEASURED
    with np.errstate(invalid="ignore", over="ignore"):
        norm = np.sqrt(np.sum(np.square(np.where(known, values, 0.0)), axis=0))
    return np.where(known.any(axis=0), norm, UNMEASURED)


def _around(layer: str, root: str) -> list[str]:
    """net, net.encoder and net.encoder.0; a model's own name may have dots."""
    names = layer[len(root) + 1 :].split(".") if layer != root else []
    return [".".join([root, *names[:end]]) for end in range(len(names) + 1)]


def _short(value: float) -> float | str | None:
    """Four figures: a colour shows no more."""
    known = as_json(value)
    return float(f"{known:.4g}") if isinstance(known, float) else known
