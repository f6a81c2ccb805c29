"""The numbers of a tensor that went into an op, as a record."""

from __future__ import annotations

from typing import Any

import torch
from torch import isfinite

from torch_debugger.records import Operand
from torch_debugger.stats.unseen import no_grad


def measure_operand(tensor: torch.Tensor, name: str = "", parameter: str = "") -> Operand:
    with torch._C.DisableTorchFunction(), no_grad():
        data = tensor.detach()
        plain = data.layout is torch.strided and not data.is_complex() and not data.is_quantized
        return Operand(
            name=name,
            dtype=str(data.dtype).removeprefix("torch."),
            shape=tuple(data.shape),
            elements=data.numel(),
            limit=torch.finfo(data.dtype).max if data.is_floating_point() else 0.0,
            parameter=parameter,
            **(_numbers(data) if plain and data.numel() and not data.is_meta else {}),
        )


def _numbers(data: torch.Tensor) -> dict[str, Any]:
    found: dict[str, Any] = {"zeros": int((data == 0).sum())}
    if data.dtype is not torch.bool:
        found["negatives"] = int((data < 0).sum())
    finite = data
    if data.is_floating_point():
        finite = data[isfinite(data)]
        found["nans"], found["infs"] = int(data.isnan().sum()), int(data.isinf().sum())
    if finite.numel():
        found["low"], found["high"] = float(finite.min()), float(finite.max())
    return found
