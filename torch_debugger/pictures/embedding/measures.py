"""What features are worth, as numbers: the dimensions they use, whether they collapsed, how classes part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.floating[Any]]
_MOST_SIDE = 2_500  # of a matrix whose eigenvalues are taken: a few seconds
_STILL = 1e-6  # of the largest value: a feature that varies less is constant


@dataclass(frozen=True)
class EmbeddingNumbers:
    points: int
    features: int
    effective_dimensions: float  # participation ratio: all alike give `features`, one alone gives 1
    dimensions_for_90: int  # principal components that hold 90 % of the variance
    mean_cosine: float  # of two different points; near 1 they all point the same way
    dead_share: float  # features that are the same for all points
    std: Matrix  # of each feature
    separation: float | None  # of classes, from -1 to 1; None without labels

    def __str__(self) -> str:
        parted = "" if self.separation is None else f", separation of classes {self.separation:.2f}"
        return (
            f"{self.points:,} points of {self.features:,} features: {self.effective_dimensions:.1f} effective "
            f"dimensions, 90 % of the variance in {self.dimensions_for_90}\n"
            f"mean cosine of two points {self.mean_cosine:.2f}, {self.dead_share:.0%} of the features are "
            f"constant{parted}"
        )


def measured(features: Matrix, classes: Sequence[Any] | None) -> EmbeddingNumbers:
    values = features.astype(np.float64)
    centred = values - values.mean(axis=0)
    std = centred.std(axis=0)
    variances = _variances(centred)
    return EmbeddingNumbers(
        points=len(values),
        features=values.shape[1],
        effective_dimensions=_participation(variances),
        dimensions_for_90=_enough(variances, 0.9),
        mean_cosine=_mean_cosine(values),
        dead_share=float((std <= _STILL * np.abs(values).max(initial=0)).mean()),
        std=std,
        separation=None if classes is None else separation(values, classes),
    )


def _variances(centred: Matrix) -> Matrix:
    """Along the principal components, the greatest first."""
    rows = centred[:: -(-min(centred.shape) // _MOST_SIDE)] if min(centred.shape) > _MOST_SIDE else centred
    smaller = rows @ rows.T if rows.shape[0] < rows.shape[1] else rows.T @ rows
    return np.linalg.eigvalsh(smaller)[::-1].clip(0)


def _participation(variances: Matrix) -> float:
    squares = float((variances**2).sum())
    return float(variances.sum()) ** 2 / squares if squares > 0 else 0.0


def _enough(variances: Matrix, share: float) -> int:
    total = variances.sum()
    return int(np.searchsorted(np.cumsum(variances), share * total) + 1) if total > 0 else 0


def _mean_cosine(values: Matrix) -> float:
    """Over all pairs at once: the square of a sum of unit vectors holds every product of two."""
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    units = values / np.where(lengths > 0, lengths, 1)
    count = len(units)
    return float(((units.sum(axis=0) ** 2).sum() - (units**2).sum()) / max(1, count * (count - 1)))


def separation(values: Matrix, classes: Sequence[Any]) -> float | None:
    """A silhouette by class means: is a point nearer to the rest of its class than to the next one?

    (b - a) / max(a, b) on average, with a the distance to the mean of the others of its class and b to the
    nearest mean of another class. None where fewer than two classes have two points.
    """
    _, places, counts = np.unique(np.asarray(classes).astype(str), return_inverse=True, return_counts=True)
    if (counts > 1).sum() < 2:
        return None
    means = np.stack([values[places == place].mean(axis=0) for place in range(len(counts))])
    means[counts < 2] = np.inf
    distances = _distances(values, means)
    own = np.arange(len(values)), places
    several = counts[places] > 1
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = distances[own] * counts[places] / (counts[places] - 1)  # without the point itself
    distances[own] = np.inf
    outside = distances.min(axis=1)
    scores = (outside - inside)[several] / np.maximum(np.maximum(outside, inside)[several], 1e-30)
    return float(scores.mean())


def _distances(values: Matrix, means: Matrix) -> Matrix:
    return np.stack([np.linalg.norm(values - mean, axis=1) for mean in means], axis=1)
