"""Principal components of points: exact where they are few or flat, else by subspace iteration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_EXACT = 600  # points or dimensions, whichever are fewer
_SPARE, _ROUNDS = 10, 6
_NOTHING = 1e-6  # of the variance

Matrix = NDArray[np.float64]


class Components(NamedTuple):
    places: Matrix  # [points, kept]: the points, centred, along each component
    centre: Matrix  # [kept]: the mean along each component
    shares: Matrix  # [kept]: of the variance
    whole: bool  # whether nothing is left in the other dimensions: then distances and angles are exact


def components_of(points: NDArray[np.float32], most: int) -> Components:
    values = points.astype(np.float64)
    mean = values.mean(axis=0)
    centred = values - mean
    total = float((centred**2).sum())
    kept = min(most, *points.shape)
    axes = _axes(centred, kept)
    axes *= np.where(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] < 0, -1.0, 1.0)
    places = centred @ axes
    spread = (places**2).sum(axis=0)
    order = np.argsort(-spread, kind="stable")
    shares = spread[order] / total if total > 0 else np.zeros(kept)
    # The mean may point where no point differs: then it counts for angles all the same.
    inside = float(((mean @ axes) ** 2).sum())
    whole = 1 - shares.sum() < _NOTHING and abs(float(mean @ mean) - inside) <= _NOTHING * (
        1e-300 + float(mean @ mean)
    )
    return Components(places[:, order], (mean @ axes)[order], shares, bool(whole or kept == points.shape[1]))


def _axes(centred: Matrix, kept: int) -> Matrix:
    """[dimensions, kept], of length one each and at right angles."""
    points, dimensions = centred.shape
    if dimensions <= _EXACT and dimensions <= points:
        _, vectors = np.linalg.eigh(centred.T @ centred)
        return np.ascontiguousarray(vectors[:, ::-1][:, :kept])
    if points <= _EXACT:
        _, _, rows = np.linalg.svd(centred, full_matrices=False)
        return np.ascontiguousarray(rows[:kept].T)
    basis = np.random.default_rng(0).normal(size=(dimensions, min(kept + _SPARE, dimensions)))
    for _ in range(_ROUNDS):
        basis, _ = np.linalg.qr(centred.T @ (centred @ basis))
    _, _, rows = np.linalg.svd(centred @ basis, full_matrices=False)
    return np.ascontiguousarray((basis @ rows.T)[:, :kept])
