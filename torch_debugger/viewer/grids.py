"""The numbers of layers over the steps of a run, as a grid that fits on a screen and into JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.records import TensorRows

UNMEASURED = -1.7e308  # no float32 comes near it
_MOST_STEPS = 600
_MOST_LAYERS = 1000


def layer_grid(tables: Sequence[TensorRows], column: str) -> dict[str, Any]:
    """values[layer][step]; null where a layer was not measured, and NaN and Inf as words."""
    tables = [rows for rows in tables if column in rows.table.columns]
    names = list(dict.fromkeys(name for rows in tables for name in rows.table.names))
    shown = names[:_MOST_LAYERS]
    values = _filled(tables, column, {name: place for place, name in enumerate(shown)})
    chosen = steps_to_show(values)
    return {
        "steps": [tables[index].step for index in chosen],
        "names": shown,
        "values": [[as_json(value) for value in row] for row in values[:, chosen].tolist()],
        "all_steps": len(tables),
        "all_layers": len(names),
    }


def thinned(values: NDArray[np.float64], most: int = _MOST_STEPS) -> list[int]:
    """The places of a curve worth showing: evenly spread, and never one fewer that is not finite."""
    return steps_to_show(values[None, :], most)


def as_json(value: float) -> float | str | None:
    if value == math.inf or value == -math.inf:
        return "inf" if value > 0 else "-inf"
    return None if value == UNMEASURED else "nan" if math.isnan(value) else value


def _filled(tables: Sequence[TensorRows], column: str, places: dict[str, int]) -> NDArray[np.float64]:
    values = np.full((len(places), len(tables)), UNMEASURED)
    for index, rows in enumerate(tables):
        known = [place for place, name in enumerate(rows.table.names) if name in places]
        where = [places[rows.table.names[place]] for place in known]
        values[where, index] = rows.values[known, rows.table.columns.index(column)]
    return values


def steps_to_show(values: NDArray[np.float64], most: int = _MOST_STEPS) -> list[int]:
    """One step of each stretch: its first with a number that is not finite, else its last."""
    count = values.shape[1]
    if count <= most:
        return list(range(count))
    bad = np.asarray(~np.isfinite(values).all(axis=0))
    edges = np.linspace(0, count, most + 1).astype(int)
    stretches = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return [
        start + int(bad[start:end].argmax()) if bad[start:end].any() else end - 1 for start, end in stretches
    ]
