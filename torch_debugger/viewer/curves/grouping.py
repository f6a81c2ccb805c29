"""Runs that differ in chance only, as one curve: their mean and how far they spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_debugger.viewer.curves.indexing import Floats, Index


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    x: Floats
    mean: Floats
    std: Floats  # over the runs, of the population: 0 where there is one run
    runs: Floats  # how many of them have a finite value there


def group_curves(indexes: list[Index], low: float, high: float, width: int) -> Group:
    """Each run is averaged over the same stretches of x first, so that none counts more for logging more often.
    Where the runs have few points, a stretch is one x."""
    parts = [_within(index, low, high) for index in indexes]
    every = np.unique(np.concatenate([x for x, _ in parts])) if parts else np.empty(0)
    if len(every) > width:
        edges = np.linspace(every[0], every[-1], width + 1)
        centres = (edges[:-1] + edges[1:]) / 2
        places = [np.clip(np.searchsorted(edges, x, "right") - 1, 0, width - 1) for x, _ in parts]
    else:
        centres = every
        places = [np.searchsorted(every, x) for x, _ in parts]
    table = np.array([_averaged(at, y, len(centres)) for at, (_, y) in zip(places, parts, strict=True)])
    return _over_runs(centres, table.reshape(len(parts), len(centres)))


def _within(index: Index, low: float, high: float) -> tuple[Floats, Floats]:
    start, end = np.searchsorted(index.x, low, "left"), np.searchsorted(index.x, high, "right")
    return index.x[start:end], index.y[start:end]


def _averaged(places: np.ndarray[tuple[int], np.dtype[np.intp]], y: Floats, count: int) -> Floats:
    """NaN where a run has nothing finite."""
    finite = np.isfinite(y)
    sums = np.bincount(places[finite], y[finite], count)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = sums / np.bincount(places[finite], minlength=count)
    return means


def _over_runs(x: Floats, table: Floats) -> Group:
    there = np.isfinite(table)
    runs = there.sum(axis=0)
    kept = runs > 0
    values = np.where(there, table, 0.0)[:, kept]
    mean = values.sum(axis=0) / runs[kept]
    away = np.where(there[:, kept], values - mean, 0.0)
    return Group(x[kept], mean, np.sqrt((away**2).sum(axis=0) / runs[kept]), runs[kept].astype(np.float64))
