"""Precision-recall curves as `add_pr_curve` logs them: six numbers for each threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive.parsing import Value
from torch_debugger.archive.tensors import read_numbers

KIND = "pr_curves"
_ROWS = 6


@dataclass(frozen=True, slots=True, eq=False)
class PrCurve:
    """By ascending threshold. Where nothing is called positive any more, precision has no value: those
    thresholds are left out."""

    step: int
    time: float
    thresholds: NDArray[np.float64] = field(repr=False)
    true_positives: NDArray[np.float64] = field(repr=False)
    false_positives: NDArray[np.float64] = field(repr=False)
    precision: NDArray[np.float64] = field(repr=False)
    recall: NDArray[np.float64] = field(repr=False)

    @property
    def average_precision(self) -> float:
        """The mean of precision over recall, without interpolation: the area below the steps of the curve."""
        steps = self.recall - np.append(self.recall[1:], 0.0)
        return float((steps * self.precision).sum())

    @property
    def best(self) -> int:
        """Where the harmonic mean of precision and recall (F1) is highest."""
        return int(self.f1.argmax())

    @property
    def f1(self) -> NDArray[np.float64]:
        both = self.precision + self.recall
        means: NDArray[np.float64] = 2 * self.precision * self.recall / np.where(both > 0, both, 1.0)
        return means


def pr_curves(step: int, time: float, value: Value) -> Iterator[PrCurve]:
    table = read_numbers(value.body)
    if table.ndim != 2 or table.shape[0] != _ROWS or not table.shape[1]:
        raise ValueError(f"a table of shape {table.shape} where six rows belong")
    thresholds = np.linspace(0.0, 1.0, table.shape[1])
    called = np.flatnonzero(table[0] + table[1])
    some = slice(0, called[-1] + 1 if len(called) else 1)
    yield PrCurve(step, time, thresholds[some], *(table[row, some] for row in (0, 1, 4, 5)))
