"""How much of a float16 tensor has fallen to the low end of its range, where numbers end.

Below 2**-14 a float16 loses a bit of precision with every halving, and below 2**-25 it is zero. Those that
have become zero cannot be told from others that are zero; but values that crowd on the last two steps above
zero tell that as many have gone over the edge. The other dtypes reach down to 1e-38 and are not asked.
"""

from __future__ import annotations

import torch

from torch_debugger.stats.summary import SAMPLE, sampled

COLUMNS = ("subnormal", "faint")  # shares of all values; neither counts zeros
LAST_STEPS = 2**-23  # two steps of 2**-24, the distance between the smallest float16 numbers


def can_underflow(tensor: torch.Tensor) -> bool:
    return tensor.dtype is torch.float16


def measure_underflow(tensor: torch.Tensor) -> torch.Tensor:
    """[share below the smallest normal number, share on the last two steps above zero] as float32."""
    sizes = sampled(tensor, SAMPLE).float().abs()
    zeros = torch.count_nonzero(sizes == 0)
    low = [torch.count_nonzero(sizes < 2**-14), torch.count_nonzero(sizes <= LAST_STEPS)]
    return (torch.stack(low) - zeros) / sizes.numel()
