"""Is a tensor finite, and if not, what is in it?"""

from __future__ import annotations

import math
from typing import Any

import torch

FINITE, INF, NAN = "finite", "inf", "nan"


def state_of(tensor: torch.Tensor) -> str:
    """finite | inf (and no NaN) | nan"""
    if not tensor.is_floating_point() and not tensor.is_complex():
        return FINITE
    if tensor.layout is not torch.strided or tensor.numel() == 0 or tensor.is_meta or tensor.is_quantized:
        return FINITE
    with torch._C.DisableTorchFunction():
        numbers = _real(tensor.detach())
        if math.isfinite(float(numbers.sum(dtype=torch.float64))):
            return FINITE
        if bool(numbers.isnan().any()):
            return NAN
        return INF if bool(numbers.isinf().any()) else FINITE


def sign_of_inf(tensor: torch.Tensor) -> str:
    """inf | -inf, of a tensor that holds some; inf where it holds both"""
    with torch._C.DisableTorchFunction():
        return "inf" if bool((_real(tensor.detach()) == math.inf).any()) else "-inf"


def word_for(tensor: torch.Tensor, state: str) -> str:
    return "nan" if state == NAN else sign_of_inf(tensor)


def has_masked_row(tensor: torch.Tensor) -> bool:
    """Whether some row (along the last dimension) is -inf as a whole."""
    if not tensor.is_floating_point() or tensor.dim() == 0 or tensor.numel() == 0:
        return False
    with torch._C.DisableTorchFunction():
        return bool((tensor.detach() == -math.inf).all(dim=-1).any())


def _real(tensor: torch.Tensor) -> Any:
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
