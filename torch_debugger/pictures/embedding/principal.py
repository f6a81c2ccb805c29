"""Principal components, our own: by a singular value decomposition, of large matrices by a randomised one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.floating[Any]]
_LARGE = 1000  # rows and columns from which on the randomised one is quicker
_SPARE, _ROUNDS = 20, 7  # directions and power iterations of the randomised one


class Components(NamedTuple):
    points: Matrix  # [N, k]
    shares: Matrix  # [k], of the variance


def principal_components(features: Matrix, count: int) -> Components:
    """Always the same for the same features: the largest loading of each component is positive."""
    centred = features.astype(np.float64) - features.mean(axis=0, dtype=np.float64)
    count = min(count, *centred.shape)
    exact = min(centred.shape) < _LARGE
    u, lengths, v = np.linalg.svd(centred, full_matrices=False) if exact else _randomised(centred, count)
    signs = np.sign(v[np.arange(len(v)), np.abs(v).argmax(axis=1)])
    total = max(float((centred**2).sum()), np.finfo(np.float64).tiny)
    points = u * lengths * np.where(signs == 0, 1, signs)
    return Components(points[:, :count], lengths[:count] ** 2 / total)


def _randomised(centred: Matrix, count: int) -> tuple[Matrix, Matrix, Matrix]:
    """Halko, Martinsson and Tropp (2011); the random numbers are its own."""
    width = min(count + _SPARE, *centred.shape)
    basis = centred @ np.random.default_rng(0).standard_normal((centred.shape[1], width))
    for _ in range(_ROUNDS):
        basis = centred @ (centred.T @ np.linalg.qr(basis)[0])
    basis = np.linalg.qr(basis)[0]
    u, lengths, v = np.linalg.svd(basis.T @ centred, full_matrices=False)
    return basis @ u, lengths, v
