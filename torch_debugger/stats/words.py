"""A tensor in a few words, for evidence."""

from __future__ import annotations

import torch


@torch.no_grad()
def describe_operand(name: str, tensor: torch.Tensor) -> str:
    """'input: float32 [64, 10], min 0, max 3.2, 12 zeros'"""
    data = tensor.detach()
    head = f"{name}: {str(data.dtype).removeprefix('torch.')} {list(data.shape)}"
    if data.numel() == 0 or data.is_complex():
        return head
    finite = data[torch.isfinite(data)] if data.is_floating_point() else data
    parts = [head]
    if finite.numel():
        parts.append(f"min {finite.min().item():.4g}, max {finite.max().item():.4g}")
    zeros = int((data == 0).sum())
    if zeros:
        parts.append(f"{zeros} zero{'s' if zeros > 1 else ''}")
    wrong = data.numel() - finite.numel()
    if wrong:
        parts.append(f"{wrong} not finite")
    return ", ".join(parts)
