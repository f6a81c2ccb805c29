"""Layers over steps as a grid: what was not measured, NaN and Inf can be told apart."""

from __future__ import annotations

import json
import math

import numpy as np

from torch_debugger.records import Table, TensorRows
from torch_debugger.viewer.questions import layer_grid, thinned


def rows(step: int, names: tuple[str, ...], *values: float) -> TensorRows:
    table = Table("activation", "model", names, ("mean", "std"))
    return TensorRows(step, table, np.array([[value, 0.5] for value in values], np.float32))


def test_every_cell_says_what_it_is() -> None:
    tables = [rows(1, ("a", "b"), 1.0, math.nan), rows(5, ("b", "c"), math.inf, -math.inf)]
    grid = layer_grid(tables, "mean")
    assert grid["steps"] == [1, 5] and grid["names"] == ["a", "b", "c"]
    assert grid["values"] == [[1.0, None], ["nan", "inf"], [None, "-inf"]]
    json.dumps(grid, allow_nan=False)


def test_a_column_nobody_measured_gives_an_empty_grid() -> None:
    assert layer_grid([rows(1, ("a",), 1.0)], "zeros")["steps"] == []
    assert layer_grid([], "mean")["names"] == []


def test_long_runs_are_thinned_and_no_nan_hides() -> None:
    tables = [rows(step, ("a",), math.nan if step == 1234 else 1.0) for step in range(5000)]
    grid = layer_grid(tables, "mean")
    assert len(grid["steps"]) == 600 and grid["all_steps"] == 5000
    assert grid["values"][0][grid["steps"].index(1234)] == "nan"
    assert grid["steps"] == sorted(grid["steps"]) and grid["steps"][-1] == 4999


def test_a_curve_is_thinned_the_same_way() -> None:
    values = np.ones(10_000)
    values[777] = np.inf
    assert 777 in thinned(values) and len(thinned(values)) == 600
    assert thinned(np.ones(3)) == [0, 1, 2]
