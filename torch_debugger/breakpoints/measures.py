"""What the functions of conditions say of tensors. Each reads the numbers once and waits for the device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.stats.summary import norm
from torch_debugger.stats.values import values_of

_REDUCIBLE = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class NoAnswerError(Exception):
    """No answer here: the module has no weight, the output no numbers. The condition does not hold then."""


def tensors_of(value: Any) -> list[torch.Tensor]:
    found = [tensor.detach() for tensor in tensors_in(value)]
    if not found:
        raise NoAnswerError
    return found


def the_tensor(value: Any) -> torch.Tensor:
    """For arithmetic, which is done with one tensor at a time."""
    return tensors_of(value)[0]


def _rows(value: Any) -> list[torch.Tensor]:
    """The numbers of each tensor, of a kind that every reduction knows; tensors without any are left out."""
    found = (values_of(tensor)[0] for tensor in tensors_of(value))
    rows = [
        row if row.dtype in _REDUCIBLE else row.to(torch.float64)
        for row in found
        if row is not None and len(row)
    ]
    if not rows:
        raise NoAnswerError
    return rows


def _is_calm(tensor: torch.Tensor) -> bool:
    """A sum is ten times cheaper than isnan(): if it is finite, so is every element."""
    return math.isfinite(tensor.sum().item())


def has_nan(value: Any) -> bool:
    if isinstance(value, int | float):
        return math.isnan(value)
    return any(not _is_calm(part) and bool(part.isnan().any()) for part in _rows(value))


def has_inf(value: Any) -> bool:
    if isinstance(value, int | float):
        return math.isinf(value)
    return any(not _is_calm(part) and bool(part.isinf().any()) for part in _rows(value))


def is_finite(value: Any) -> bool:
    if isinstance(value, int | float):
        return math.isfinite(value)
    return all(_is_calm(part) or bool(part.isfinite().all()) for part in _rows(value))


def _together(value: Any) -> torch.Tensor:
    """All numbers in one row, in double precision where there are several tensors."""
    parts = _rows(value)
    return parts[0] if len(parts) == 1 else torch.cat([part.double() for part in parts])


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _std(value: Any) -> float:
    data = _wide(_together(value))
    if data.numel() < 2:
        raise NoAnswerError
    return data.std().item()


def _zeros(value: Any) -> float:
    data = _together(value)
    return 1.0 - torch.count_nonzero(data).item() / data.numel()


def _abs(value: Any) -> Any:
    return abs(value) if isinstance(value, int | float) else the_tensor(value).abs()


def _len(value: Any) -> int:
    if isinstance(value, torch.Tensor) and value.dim() == 0:
        raise NoAnswerError
    return len(value) if hasattr(value, "__len__") else len(the_tensor(value))


MEASURES: dict[str, Callable[[Any], Any]] = {
    "nan": has_nan,
    "inf": has_inf,
    "finite": is_finite,
    "any": lambda value: any(bool(tensor.any()) for tensor in tensors_of(value)),
    "all": lambda value: all(bool(tensor.all()) for tensor in tensors_of(value)),
    "norm": lambda value: math.hypot(*(norm(tensor).item() for tensor in _rows(value))),
    "min": lambda value: _together(value).min().item(),
    "max": lambda value: _together(value).max().item(),
    "mean": lambda value: _wide(_together(value)).mean().item(),
    "std": _std,
    "sum": lambda value: _wide(_together(value)).sum().item(),
    "zeros": _zeros,
    "dim": lambda value: the_tensor(value).dim(),
    "numel": lambda value: sum(tensor.numel() for tensor in tensors_of(value)),
    "len": _len,
    "abs": _abs,
    "shape": lambda value: tuple(the_tensor(value).shape),
    "dtype": lambda value: str(the_tensor(value).dtype).removeprefix("torch."),
    "device": lambda value: str(the_tensor(value).device),
}
