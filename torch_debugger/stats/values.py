"""The numbers a tensor holds, as a plain row, whatever kind of tensor it is."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torch_debugger.stats.unseen import no_grad

Values = tuple[torch.Tensor | None, tuple[str, ...]]  # None: it holds none; and what to know about them


def values_of(tensor: torch.Tensor) -> Values:
    """The elements in one row, and remarks such as "3 of 100 stored" for a sparse tensor."""
    missing = _why_no_values(tensor)
    if missing:
        return None, (missing,)
    try:
        with no_grad(), torch._C.DisableTorchFunction():
            return _read(tensor.detach(), ())
    except Exception as error:  # kinds of tensors are without number, and each may refuse in its own way
        return None, (f"values cannot be read: {type(error).__name__}",)


def _why_no_values(tensor: torch.Tensor) -> str:
    if nn.parameter.is_lazy(tensor):
        return "not initialized"
    if tensor.is_meta:
        return "no values"
    if _is_fake(tensor):
        return "fake, no values"
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return "inside a transform, no values yet"
    return ""


def _is_fake(tensor: torch.Tensor) -> bool:
    return any(kind.__name__ == "FakeTensor" for kind in type(tensor).__mro__)


def _read(tensor: torch.Tensor, remarks: tuple[str, ...]) -> Values:
    inner, remark = _unwrapped(tensor)
    if inner is not tensor:
        return _read(inner, (*remarks, remark) if remark else remarks)
    if tensor.device.type == "mps":
        return _read(tensor.cpu(), remarks)  # has no float64
    row = _row(tensor)
    row[:1].to(torch.float64)  # raises for kinds that are bits and not numbers
    return row, remarks


def _unwrapped(tensor: Any) -> tuple[Any, str]:
    """One coat taken off: placement over ranks, nesting, sparsity, quantization, imaginary parts."""
    if hasattr(tensor, "to_local"):  # never the whole: that would wait for the other ranks
        return tensor.to_local(), "this rank's part"
    if tensor.is_nested:
        return _joined(tensor), f"{tensor.size(0)} nested"
    if tensor.layout is not torch.strided:
        return _stored(tensor)
    if tensor.is_quantized:
        return tensor.dequantize(), "quantized"
    if tensor.is_complex():
        whole = tensor.to(torch.complex64) if tensor.dtype is torch.complex32 else tensor
        return whole.abs(), "absolute values"
    return tensor, ""


def _joined(tensor: Any) -> torch.Tensor:
    if tensor.layout is torch.jagged:
        inside: torch.Tensor = tensor.values()
        return inside
    parts = [part.reshape(-1) for part in tensor.unbind()]
    return torch.cat(parts) if parts else torch.empty(0)


def _stored(tensor: Any) -> tuple[torch.Tensor, str]:
    if tensor.is_mkldnn:
        return tensor.to_dense(), "mkldnn"
    if tensor.layout is torch.sparse_coo:
        tensor = tensor.coalesce()
    return tensor.values(), f"sparse, {tensor.values().numel():,} of {tensor.numel():,} stored"


def _row(tensor: torch.Tensor) -> torch.Tensor:
    """In the order of memory where that saves a copy."""
    if tensor.is_contiguous() or not torch.ops.aten.is_non_overlapping_and_dense(tensor):
        return tensor.reshape(-1)
    return tensor.as_strided((tensor.numel(),), (1,), tensor.storage_offset())
