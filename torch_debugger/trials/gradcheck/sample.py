"""The gradient of one input, both ways, at a sample of its elements: what a pattern is read from."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from torch_debugger.trials.gradcheck.culprit import Culprit, Search
from torch_debugger.trials.gradcheck.directions import fineness
from torch_debugger.trials.gradcheck.point import Point

_ELEMENTS = 64


@dataclass(frozen=True)
class Sample:
    """Elements of one leaf; `analytical` and `numerical` are its gradient for `culprit.weights`."""

    point: Point
    culprit: Culprit
    places: torch.Tensor  # in the row of inputs
    analytical: torch.Tensor
    numerical: torch.Tensor
    tolerance: float

    @property
    def whole(self) -> bool:
        """Whether these are all elements of the leaf."""
        return len(self.places) == self.culprit.leaf.stop - self.culprit.leaf.start

    @property
    def wrong(self) -> torch.Tensor:
        return ~self.agree(self.analytical, self.numerical)

    def agree(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        """Element by element, up to the rounding of differences."""
        size = torch.maximum(one.abs(), other.abs())
        floor = self.numerical.abs().max() * self.tolerance * 0.1
        return (one - other).abs() <= self.tolerance * size + floor


def draw_sample(point: Point, search: Search, culprit: Culprit) -> Sample:
    leaf = culprit.leaf
    count = leaf.stop - leaf.start
    spread = torch.linspace(leaf.start, leaf.stop - 1, min(count, _ELEMENTS), dtype=torch.float64).long()
    places = torch.tensor(sorted({*spread.tolist(), culprit.place}))
    slopes = [float(culprit.weights @ search.column(int(place))) for place in places]
    numerical = torch.tensor(slopes, dtype=torch.float64)
    analytical = culprit.gradient.cpu()[places]
    return Sample(point, culprit, places, analytical, numerical, tolerance=max(1e-4, 10 * fineness(point)))
