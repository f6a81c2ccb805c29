"""Whether tensors on different machines are equal to the last bit, as one small number each."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from torch_debugger.stats.summary import sampled
from torch_debugger.stats.unseen import no_grad

ELEMENTS = 256  # of one tensor, evenly spread
BITS = 24  # of a checksum: so many go through a float32 unharmed


@no_grad()
def checksums(tensors: Sequence[torch.Tensor], limit: int = ELEMENTS) -> torch.Tensor:
    """One whole number below 2**BITS for each, on their own device: nothing waits for it. Half precision is
    told to the last bit; of float64 what a float32 keeps."""
    rows = torch.zeros(len(tensors), limit, dtype=torch.int64, device=tensors[0].device)
    for row, tensor in zip(rows, tensors, strict=True):
        numbers = _as_whole(sampled(tensor, limit))
        row[: numbers.numel()] = numbers
    # Odd multipliers, so that neither an exchange nor a shift of numbers goes unseen.
    places = torch.arange(1, limit + 1, device=rows.device) * 0x9E3779B1 | 1
    mixed = (rows * places).sum(dim=1)
    return torch.bitwise_and(mixed ^ (mixed >> 29), 2**BITS - 1)


def _as_whole(numbers: torch.Tensor) -> torch.Tensor:
    if numbers.is_floating_point():
        return numbers.float().contiguous().view(torch.int32).to(torch.int64)
    return numbers.to(torch.int64)
