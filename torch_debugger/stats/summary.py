"""Five numbers of a tensor from the cheap reductions: sum, norm and range.

Mean and deviation come from the sum and the norm in float32; NaN and Inf show in all of
them. The numbers stay on the tensor's device until `stats.transfer` brings them over.
"""

from __future__ import annotations

import torch

COLUMNS = ("mean", "std", "min", "max", "zeros")


def measurable(value: object) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.is_floating_point()
        and value.layout is torch.strided
        and value.numel() > 0
        and not value.is_meta
    )


def measure(tensor: torch.Tensor) -> torch.Tensor:
    """[mean, std, min, max, share of zeros] as float32 on the tensor's device."""
    data = tensor.detach()
    count = data.numel()
    total = data.sum(dtype=torch.float32)
    norm = torch.linalg.vector_norm(data, dtype=torch.float32)
    low, high = torch.aminmax(data)
    mean = total / count
    variance = (norm * norm / count - mean * mean).clamp_min(0)
    zeros = 1.0 - torch.count_nonzero(data) / count
    return torch.stack((mean, variance.sqrt(), low.float(), high.float(), zeros.float()))


def sampled(tensor: torch.Tensor, limit: int = 4096) -> torch.Tensor:
    """At most `limit` elements, evenly spread, as a view where the layout allows."""
    data = tensor.detach()
    count = data.numel()
    if count <= limit:
        return data.reshape(-1)
    stride = count // limit
    if torch.ops.aten.is_non_overlapping_and_dense(data):
        return data.as_strided((limit,), (stride,), data.storage_offset())
    return data.flatten()[::stride][:limit]


def norms(tensors: list[torch.Tensor]) -> torch.Tensor:
    """The 2-norms of many tensors as one float32 vector on the device of the first."""
    if not tensors:
        return torch.empty(0)
    kinds = {(tensor.device, tensor.dtype) for tensor in tensors}
    if len(kinds) == 1:
        found = torch._foreach_norm(tensors)
    else:
        found = tuple(torch.linalg.vector_norm(tensor, dtype=torch.float32) for tensor in tensors)
    home = tensors[0].device
    return torch.stack([value.to(home, torch.float32, non_blocking=True) for value in found])
