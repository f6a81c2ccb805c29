"""Numbers by which the modules of a model can be coloured, at each step at which they were measured.

What was measured of parameters becomes a number of the module that holds them, and of all around it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from torch_debugger.archive.run import Run
from torch_debugger.records import ModelFact, TensorRows
from torch_debugger.viewer.grids import as_json

_MOST_STEPS = 120


@dataclass(frozen=True)
class Number:
    kind: str  # of the table
    column: str
    title: str
    about: str
    joined: str = ""  # how numbers of parameters become one of their module: norm | largest (of matrices)


NUMBERS = {
    "activation.std": Number(
        "activation", "std", "Activation std", "standard deviation of what a module puts out"
    ),
    "activation.mean": Number("activation", "mean", "Activation mean", "mean of what a module puts out"),
    "activation.zeros": Number(
        "activation", "zeros", "Activation zeros", "share of zeros in what a module puts out"
    ),
    "activation.max": Number("activation", "max", "Activation maximum", "largest value a module puts out"),
    "output_gradient.std": Number(
        "output_gradient", "std", "Output gradient std", "standard deviation of the gradient at an output"
    ),
    "parameter.grad_norm": Number(
        "parameter", "grad_norm", "Gradient norm", "norm of the gradients of all weights in a module", "norm"
    ),
    "parameter.weight_norm": Number(
        "parameter", "weight_norm", "Weight norm", "norm of all weights in a module", "norm"
    ),
    "update.ratio": Number(
        "update", "ratio", "Update ratio", "largest update of a weight matrix, relative to it", "largest"
    ),
}  # fmt: skip


def numbers_of(run: Run, root: str) -> list[dict[str, str]]:
    """Those that were measured for this model."""
    measured: set[tuple[str, str]] = set()
    for rows in run.records(TensorRows):
        if isinstance(rows, TensorRows) and any(_is_of(name, root) for name in rows.table.names):
            measured |= {(rows.table.kind, column) for column in rows.table.columns}
    return [
        {"name": name, "title": each.title, "about": each.about}
        for name, each in NUMBERS.items()
        if (each.kind, each.column) in measured
    ]


def health_of(run: Run, root: str, name: str) -> dict[str, Any]:
    """values[module][step] with null where a module was not measured."""
    number = NUMBERS[name]
    tables = [rows for rows in run.rows(number.kind) if any(_is_of(each, root) for each in rows.table.names)]
    tables = _thinned([rows for rows in tables if number.column in rows.table.columns], number.column)
    left_out = _vectors(run) if number.joined == "largest" else frozenset()
    steps, by_module = _gathered(tables, number, root, left_out)
    return {
        "name": name,
        "title": number.title,
        "about": number.about,
        "steps": steps,
        "modules": list(by_module),
        "values": [[_rounded(value) for value in row] for row in by_module.values()],
    }


def _vectors(run: Run) -> frozenset[str]:
    """Biases begin at zero: relative to that, any update is endless."""
    facts = [fact for fact in run.records(ModelFact) if isinstance(fact, ModelFact)]
    return frozenset(each.path for fact in facts for each in fact.parameters if len(each.shape) < 2)


def _is_of(name: str, root: str) -> bool:
    return name == root or name.startswith(f"{root}.")


def _thinned(tables: Sequence[TensorRows], column: str) -> list[TensorRows]:
    """Evenly spread, and of each stretch the first with a number that is not finite."""
    if len(tables) <= _MOST_STEPS:
        return list(tables)
    edges = np.linspace(0, len(tables), _MOST_STEPS + 1).astype(int).tolist()
    stretches = [tables[start:end] for start, end in itertools.pairwise(edges)]
    return [next((rows for rows in each if _is_bad(rows, column)), each[-1]) for each in stretches]


def _is_bad(rows: TensorRows, column: str) -> bool:
    return not np.isfinite(rows.values[:, rows.table.columns.index(column)]).all()


def _gathered(
    tables: Sequence[TensorRows], number: Number, root: str, left_out: frozenset[str]
) -> tuple[list[int], dict[str, list[float | None]]]:
    """Several tables of one step, of two optimizers or devices, are one."""
    steps = sorted({rows.step for rows in tables})
    place = {step: at for at, step in enumerate(steps)}
    found: dict[str, list[float | None]] = {}
    for rows in tables:
        for name, value in rows.by_name(number.column).items():
            for module in _modules_of(name, root, number.joined) if name not in left_out else ():
                row = found.setdefault(module, [None] * len(steps))
                row[place[rows.step]] = _joined(row[place[rows.step]], value, number.joined)
    return steps, found


def _modules_of(name: str, root: str, joined: str) -> list[str]:
    """net.fc.weight counts for net.fc and for net; net.fc only for itself."""
    if not _is_of(name, root):
        return []
    if not joined:
        return [name]
    names = name[len(root) + 1 :].split(".")[:-1]
    return [".".join([root, *names[:end]]) for end in range(len(names) + 1)]


def _joined(before: float | None, value: float, how: str) -> float:
    if before is None or not how:
        return value
    if math.isnan(before) or math.isnan(value):
        return math.nan
    return max(before, value) if how == "largest" else math.hypot(before, value)


def _rounded(value: float | None) -> float | str | None:
    if value is None:
        return None
    shown = as_json(value)
    return float(f"{shown:.4g}") if isinstance(shown, float) else shown
