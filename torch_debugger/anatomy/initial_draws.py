"""The distributions that initializations draw from, and whether some weights still look like one of them.

Training leaves a uniform distribution first at its ends, which are sharp, and a normal one by heavier tails;
either way the spread no longer fits the formula. All bounds are five standard errors of the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class Draw:
    text: str  # uniform(-0.177, 0.177)
    spread: float  # its standard deviation
    bound: float  # of a uniform one; infinite for a normal one

    @property
    def kurtosis(self) -> float:
        return 3.0 if math.isinf(self.bound) else 1.8

    def fits(self, count: int, mean: float, spread: float, kurtosis: float, largest: float) -> bool:
        """Of the numbers of so many values."""
        error = math.sqrt((self.kurtosis - 1.0) / (4.0 * count))
        if abs(spread / self.spread - 1.0) > 5.0 * error or abs(mean) > 5.0 * self.spread / math.sqrt(count):
            return False
        if math.isinf(self.bound):
            return abs(kurtosis - 3.0) <= 5.0 * math.sqrt(24.0 / count)
        return self.bound * (1.0 - 12.0 / count) <= largest <= self.bound * (1.0 + 1e-5)


def initial_draws(module: nn.Module, weight: nn.Parameter) -> tuple[Draw, ...]:
    """What a weight of this shape may have been drawn from, the layer's own default first."""
    return tuple(_draws(isinstance(module, nn.Embedding), tuple(weight.shape)))


def _draws(is_table: bool, shape: tuple[int, ...]) -> Iterator[Draw]:
    if is_table:
        yield _normal(1.0)
    inside = math.prod(shape[2:])
    fan_in, fan_out = shape[1] * inside, shape[0] * inside
    yield from (_uniform(math.sqrt(of / fan)) for of, fan in ((1, fan_in), (6, fan_in + fan_out), (6, fan_in)))
    yield from (_normal(math.sqrt(2 / fan)) for fan in (fan_in, fan_out, fan_in + fan_out))
    yield from (_normal(spread) for spread in (0.02, 0.01))


def _uniform(bound: float) -> Draw:
    return Draw(f"uniform(-{bound:.3g}, {bound:.3g})", bound / math.sqrt(3.0), bound)


def _normal(spread: float) -> Draw:
    return Draw(f"normal(0, {spread:.3g})", spread, math.inf)
