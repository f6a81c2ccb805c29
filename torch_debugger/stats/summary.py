"""Five numbers of a tensor from the cheap reductions: sum, norm and range.

Mean and deviation come from the sum and the norm in float32; NaN and Inf show in all of
them. The numbers stay on the tensor's device until `stats.transfer` brings them over.
"""

from __future__ import annotations

import math

import torch

from torch_debugger.stats.shards import own_part

COLUMNS = ("mean", "std", "min", "max", "zeros")

_KINDS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)  # eight bits have no reductions
_NARROW = (torch.bfloat16, torch.float16)
_AT_ONCE = 2**18  # elements
_NORMS_AT_ONCE = 4096  # tensors: each norm is a tensor of its own at first, of half a kilobyte
SAMPLE = 2**16  # elements; their share of zeros is within 0.4 % of the whole tensor's


def measurable(value: object) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.dtype in _KINDS
        and value.layout is torch.strided
        and value.numel() > 0
        and not value.is_meta
        and type(value).__torch_dispatch__
        is torch.Tensor.__torch_dispatch__  # else it may hold no numbers: fake
    )


def measure(tensor: torch.Tensor) -> torch.Tensor:
    """[mean, std, min, max, share of zeros] as float32 on the tensor's device."""
    data = _row(tensor.detach())
    count = data.numel()
    length = norm(data)
    # aminmax copies what is not contiguous
    low, high = torch.aminmax(data) if data.is_contiguous() else (data.amin(), data.amax())
    mean = _add([part.sum(dtype=length.dtype) for part in _parts(data)]) / count
    variance = (length * length / count - mean * mean).clamp_min(0)
    spread = sampled(data, SAMPLE)  # counting is the dearest of the five, and a share needs no census
    zeros = 1.0 - torch.count_nonzero(spread) / spread.numel()
    return torch.stack([value.float() for value in (mean, variance.sqrt(), low, high, zeros)])


def norm(tensor: torch.Tensor) -> torch.Tensor:
    """The 2-norm, added up in float32 at least: half precision would overflow at 65504."""
    wide = torch.float64 if tensor.dtype in (torch.float64, torch.complex128) else torch.float32
    kind = None if tensor.is_complex() else wide
    lengths = [torch.linalg.vector_norm(part, dtype=kind) for part in _parts(tensor.detach())]
    length: torch.Tensor = lengths[0]
    return length if len(lengths) == 1 else torch.linalg.vector_norm(torch.stack(lengths))


def _row(data: torch.Tensor) -> torch.Tensor:
    """All elements in one row, in the order of memory, where the layout allows it without a copy."""
    if data.is_contiguous() or not torch.ops.aten.is_non_overlapping_and_dense(data):
        return data
    return data.as_strided((data.numel(),), (1,), data.storage_offset())


def _parts(data: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """In pieces where torch widens by a copy, half precision on the CPU: the peak of memory is the user's."""
    if data.dtype not in _NARROW or data.device.type != "cpu" or data.numel() <= _AT_ONCE:
        return (data,)
    return torch.split(_row(data).flatten(), _AT_ONCE)


def _add(numbers: list[torch.Tensor]) -> torch.Tensor:
    return numbers[0] if len(numbers) == 1 else torch.stack(numbers).sum()


def sampled(tensor: torch.Tensor, limit: int = 4096) -> torch.Tensor:
    """At most `limit` elements, evenly spread, as a view where the layout allows."""
    data = own_part(tensor.detach())
    count = data.numel()
    if count <= limit:
        return data.reshape(-1)
    stride = _uneven(count // limit, count)
    if torch.ops.aten.is_non_overlapping_and_dense(data):
        return data.as_strided((limit,), (stride,), data.storage_offset())
    return data.flatten()[::stride][:limit]


def _uneven(stride: int, count: int) -> int:
    """A stride that falls into no column: 784 on a [4096, 784] weight would see one pixel only."""
    return next((each for each in range(stride, stride * 9 // 10, -1) if math.gcd(each, count) == 1), stride)


def norms(tensors: list[torch.Tensor]) -> torch.Tensor:
    """The 2-norms of many tensors as one float32 vector on the device of the first."""
    if not tensors:
        return torch.empty(0)
    home = tensors[0].device
    starts = range(0, len(tensors), _NORMS_AT_ONCE)
    parts = [_norms(tensors[start : start + _NORMS_AT_ONCE], home) for start in starts]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _norms(tensors: list[torch.Tensor], home: torch.device) -> torch.Tensor:
    kinds = {(tensor.device, tensor.dtype) for tensor in tensors}
    if kinds in ({(tensors[0].device, torch.float32)}, {(tensors[0].device, torch.float64)}):
        found = torch._foreach_norm(tensors)
    else:
        found = tuple(norm(tensor) for tensor in tensors)
    return torch.stack([value.to(home, torch.float32, non_blocking=True) for value in found])
