"""How a layer's values were spread at each look, as bars of one common width."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive.run import Run
from torch_debugger.records import TensorRows
from torch_debugger.viewer.layers.numbers import Values
from torch_debugger.viewer.layers.parameters import owner_of

KINDS = {"activation_spread": "Outputs", "weight_spread": "Weights", "gradient_spread": "Gradients"}
BINS = 48
_INNER = (0.02, 0.98)  # what lies outside at every look is told, not drawn


def sources(run: Run, layer: str) -> list[dict[str, str]]:
    """What there is of a layer: its outputs, and each of its parameters."""
    found: dict[tuple[str, str], None] = {}
    for rows in run.records(TensorRows):
        assert isinstance(rows, TensorRows)
        if rows.table.kind in KINDS:
            for name in rows.table.names:
                if name == layer or owner_of(name) == layer:
                    found[rows.table.kind, name] = None
    kinds = list(KINDS)
    ordered = sorted(found, key=lambda each: kinds.index(each[0]))
    return [
        {"of": kind, "name": name, "title": _title(kind, name, layer)}
        for kind, name in ordered
        if (kind == "activation_spread") == (name == layer)
    ]


def _title(kind: str, name: str, layer: str) -> str:
    return KINDS[kind] if name == layer else f"{KINDS[kind]}: {name.removeprefix(layer + '.')}"


def looks_at(run: Run, kind: str, name: str) -> tuple[list[int], Values, Values]:
    """The steps, the quantiles' shares, and at each step the values at these shares."""
    steps: list[int] = []
    values: list[NDArray[np.float32]] = []
    shares: Values = np.array([])
    for rows in run.rows(kind):
        if name in rows.table.names and rows.step not in steps:
            steps.append(rows.step)
            values.append(rows.values[rows.table.names.index(name)])
            shares = np.array(rows.table.columns, np.float64)
    return steps, shares, np.array(values, np.float64).reshape(len(steps), len(shares))


def drawn(shares: Values, values: Values) -> dict[str, Any]:
    """Edges, and for each look the part of its values between two of them, and of those that are nowhere."""
    low, high = _ends(shares, values)
    edges = np.linspace(low, high, BINS + 1)
    parts = [_parts(shares, row, edges) for row in values]
    return {
        "edges": [float(f"{edge:.5g}") for edge in edges],
        "parts": [[round(float(part), 4) for part in bars] for bars, _, _ in parts],
        "outside": [round(outside, 4) for _, outside, _ in parts],
        "not_finite": [round(lost, 4) for _, _, lost in parts],
    }


def _ends(shares: Values, values: Values) -> tuple[float, float]:
    inner = values[:, (shares >= _INNER[0]) & (shares <= _INNER[1])]
    known = inner[np.isfinite(inner)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (-1.0, 1.0)
    wide = 0.05 * (high - low) or 0.5 * abs(high) or 0.5
    return low - wide, high + wide


def _parts(shares: Values, row: Values, edges: Values) -> tuple[Values, float, float]:
    """Between two quantiles values are taken to lie evenly; where both are the same, all lie on that number."""
    bars, lost = np.zeros(len(edges) - 1), 0.0
    for left, right, mass in zip(row[:-1], row[1:], np.diff(shares), strict=True):
        if not np.isfinite(left) or not np.isfinite(right):
            lost += float(mass)
        elif right > left:
            covered = np.minimum(edges[1:], right) - np.maximum(edges[:-1], left)
            bars += mass * np.maximum(covered, 0) / (right - left)
        elif edges[0] <= left <= edges[-1]:
            bars[min(int(np.searchsorted(edges, left, "right")) - 1, len(bars) - 1)] += mass
    return bars, max(0.0, 1.0 - lost - float(bars.sum())), lost
