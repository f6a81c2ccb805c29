"""What a loss curve says: where it began, where it is now."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

LossPoints = Sequence[tuple[int, float]]  # (step, loss), finite, oldest first


def start_level(points: LossPoints) -> float:
    """The loss before learning. The smaller of two readings: the first loss may be an odd batch,
    and the median of the first three may already be part of an explosion."""
    first = [value for _, value in points[:3]]
    return min(first[0], statistics.median(first))


def recent_level(points: LossPoints, count: int = 5) -> float:
    return statistics.median(value for _, value in points[-count:])


def fallen_share(points: LossPoints) -> float | None:
    """How much of the loss is gone: 0.5 means halved. None where the curve cannot tell."""
    if len(points) < 6:
        return None
    start = start_level(points)
    return 1.0 - recent_level(points) / start if start > 0 else None


# Does a number grow towards a limit, and when would it reach it: fits that an odd point does not move.
Points = Sequence[tuple[int, float]]  # (step, size), sizes above zero, oldest first


@dataclass(frozen=True)
class GrowthFit:
    doubles: bool  # by a factor a step, else by an amount
    rate: float  # bits a step, or the amount
    misfit: float  # typical distance of a point from the fit, in bits

    def steps_to(self, limit: float, size: float) -> float:
        return math.log2(limit / size) / self.rate if self.doubles else (limit - size) / self.rate


def find_growth(points: Points) -> GrowthFit | None:
    """The better of two fits, by a factor or by an amount a step; None where neither rises."""
    fits = [fit for fit in (fit_growth(points, True), fit_growth(points, False)) if fit is not None]
    return min(fits, key=lambda fit: fit.misfit, default=None)


def rising_share(points: Points) -> float:
    """Of all neighbours, the share that rises."""
    pairs = list(itertools.pairwise(size for _, size in points))
    return sum(after > before for before, after in pairs) / len(pairs)


def falling_share(points: Points, most: int = 64) -> float:
    """Of all pairs, the share in which the later one is smaller; of a long curve, points spread evenly."""
    values = [value for _, value in points[:: -(-len(points) // most)]]
    pairs = list(itertools.combinations(values, 2))
    return sum(later < earlier for earlier, later in pairs) / len(pairs)


def steadiness(values: Sequence[float]) -> float:
    """Kendall's tau: 1 where every later value is larger, -1 where every one is smaller."""
    signs = [(later > earlier) - (later < earlier) for earlier, later in itertools.combinations(values, 2)]
    return sum(signs) / max(1, len(signs))


def quarters(values: Sequence[float]) -> list[float]:
    """The median of each."""
    return [statistics.median(values[len(values) * n // 4 : len(values) * (n + 1) // 4]) for n in range(4)]


def fit_growth(points: Points, doubles: bool) -> GrowthFit | None:
    measure: Callable[[float], float] = math.log2 if doubles else float
    rate, start = theil_sen([(step, measure(size)) for step, size in points])
    if rate <= 0:
        return None
    line = [start + rate * step for step, _ in points]
    sizes = [2.0 ** min(value, 1000.0) if doubles else max(value, 1e-30) for value in line]
    misfits = [abs(math.log2(size / fitted)) for (_, size), fitted in zip(points, sizes, strict=True)]
    return GrowthFit(doubles, rate, statistics.median(misfits))


def theil_sen(points: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Slope and start of a line: the median slope of all pairs of points."""
    slopes = [(b - a) / (t - s) for (s, a), (t, b) in itertools.combinations(points, 2) if t != s]
    slope = statistics.median(slopes) if slopes else 0.0
    return slope, statistics.median(value - slope * step for step, value in points)
