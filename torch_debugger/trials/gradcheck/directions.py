"""The comparison itself: eight random directions, of which a wrong gradient cannot hide from one.

Along u, weighted by v, the function changes by v . J u; backward claims (J^T v) . u. Rounding lets the two
differ by about precision * |v f| / h; anything beyond that is measured once more with care.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from torch_debugger.trials.gradcheck.point import Point
from torch_debugger.trials.gradcheck.slopes import Steps, careful_slope, central_difference

DIRECTIONS = 8
_SEED = 20_011
_TRUSTED = 1e-3  # relative error of differences that still tell a wrong gradient from a right one
_ROUNDINGS = 100  # a sum of many terms is rounded many times


@dataclass(frozen=True)
class Suspicion:
    """A direction along which the two disagree."""

    direction: torch.Tensor
    weights: torch.Tensor
    off_by: float  # relative to the size of the derivative
    trusted: bool  # the differences are known well enough to blame the gradient


class Directions:
    """Draws from a generator of its own: the caller's random numbers are left alone."""

    def __init__(self, point: Point, steps: Steps) -> None:
        self._point = point
        self._steps = steps
        self._generator = torch.Generator().manual_seed(_SEED)
        self.close_to = 0.0  # the largest relative difference among those that agree

    def suspicions(self) -> Iterator[Suspicion]:
        for _ in range(DIRECTIONS):
            direction = self._drawn(self._point.inputs) * self._steps.scales
            weights = self._drawn(self._point.at_point)
            suspicion = self._compare(direction, weights)
            if suspicion is not None:
                yield suspicion

    def _drawn(self, like: torch.Tensor) -> torch.Tensor:
        """Of either sign and between 0.5 and 1 in size: no element is passed over in any direction."""
        drawn = torch.rand(like.shape, generator=self._generator, dtype=torch.float64) - 0.5
        return drawn.add_(drawn.sign(), alpha=0.5).to(like.device)

    def _compare(self, direction: torch.Tensor, weights: torch.Tensor) -> Suspicion | None:
        step = self._steps.usual
        numerical = float(weights @ central_difference(self._point, direction, step))
        gradient = self._point.pull(weights) * direction
        analytical = float(gradient.sum())
        scale = float(torch.linalg.vector_norm(gradient)) + abs(numerical)
        noise = float(torch.linalg.vector_norm(weights * self._point.at_point))
        allowed = fineness(self._point) * scale + _ROUNDINGS * self._point.precision * noise / step
        blunt = 0 < _TRUSTED * scale < allowed  # as with a small change of a large number
        if abs(analytical - numerical) <= allowed and not blunt:
            self.close_to = max(self.close_to, abs(analytical - numerical) / scale if scale else 0.0)
            return None
        return self._measure_again(direction, weights, analytical, scale)

    def _measure_again(
        self, direction: torch.Tensor, weights: torch.Tensor, analytical: float, scale: float
    ) -> Suspicion | None:
        numerical, error = careful_slope(self._point, direction, weights, self._steps.usual)
        difference = abs(analytical - numerical)
        trusted = error <= _TRUSTED * scale
        if trusted and difference <= 3 * error + fineness(self._point) * scale:
            self.close_to = max(self.close_to, difference / scale)
            return None
        off_by = difference / scale if math.isfinite(difference) else math.inf
        return Suspicion(direction, weights, off_by, trusted)


def fineness(point: Point) -> float:
    """How closely two ways to the same derivative agree at best: 1.5e-7 in float64."""
    return 10 * math.sqrt(point.precision)
