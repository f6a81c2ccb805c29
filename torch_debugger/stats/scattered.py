"""A few elements of a tensor from all over it, the same at every look, without a random number.

Steps of the golden ratio through the elements never line up with rows or columns, as a stride of 8 would with a
width of 64: it would show the same 8 units of every sample.
"""

from __future__ import annotations

import math

import torch

_GOLDEN = (math.sqrt(5) - 1) / 2


class Scattered:
    """Keeps the places it has computed: most layers of a model have one of a few sizes."""

    MOST_KEPT = 64

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._places: dict[tuple[torch.device, int], torch.Tensor] = {}

    def copy(self, tensor: torch.Tensor) -> torch.Tensor:
        """At most `limit` elements in a row of their own, on the tensor's device."""
        data = tensor.detach()
        count = data.numel()
        if count <= self.limit:
            return data.reshape(-1).clone()
        if not torch.ops.aten.is_non_overlapping_and_dense(data):
            return data.flatten().index_select(0, self._places_in(data.device, count))
        row = data.as_strided((count,), (1,), data.storage_offset())
        return row.index_select(0, self._places_in(data.device, count))

    def _places_in(self, device: torch.device, count: int) -> torch.Tensor:
        key = (device, count)
        if key not in self._places:
            if len(self._places) >= self.MOST_KEPT:
                self._places.pop(next(iter(self._places)))
            self._places[key] = torch.arange(self.limit, device=device) * step_through(count) % count
        return self._places[key]


def step_through(count: int) -> int:
    """Near the golden part of the count, and without a common factor with it: every place is met once."""
    step = round(count * _GOLDEN)
    return next(each for each in range(step, step + count) if math.gcd(each, count) == 1)
