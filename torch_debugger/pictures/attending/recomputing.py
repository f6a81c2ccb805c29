"""The weights of fused attention, which no function returns, made once more from what it was called with."""

from __future__ import annotations

import inspect
import math
from typing import Any

import torch
from torch.nn import functional

_MULTI_HEAD = inspect.signature(functional.multi_head_attention_forward)


def dot_product_weights(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """[..., out, in] in float32 at least, for the arguments of F.scaled_dot_product_attention."""
    query, key = _at_least_float32(query), _at_least_float32(key)
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -math.inf)
    if attn_mask is not None:
        scores = _masked(scores, attn_mask)
    return scores.softmax(-1)


def multi_head_weights(*arguments: Any, **keywords: Any) -> torch.Tensor:
    """[N, heads, out, in] or [heads, out, in] for the arguments of F.multi_head_attention_forward."""
    call = _MULTI_HEAD.bind(*arguments, **keywords)
    call.arguments |= {"need_weights": True, "average_attn_weights": False, "training": False}
    weights = functional.multi_head_attention_forward(*call.args, **call.kwargs)[1]
    assert weights is not None  # they were asked for
    return weights


def zero_where_nothing_is_seen(weights: torch.Tensor, answered: torch.Tensor) -> torch.Tensor:
    """A query whose keys are all masked has no weights, and fused attention answers it with zeros, not NaN.

    `answered` is true for queries whose result is finite, [..., out].
    """
    return torch.where(weights.isnan() & answered.unsqueeze(-1), torch.zeros_like(weights), weights)


def _masked(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    if hasattr(mask, "_materialize"):  # torch.nn.attention.bias.CausalBias, which no other function takes
        mask = mask._materialize(scores.device)
    if mask.dtype == torch.bool:
        return scores.masked_fill(~mask, -math.inf)
    return scores + mask


def _at_least_float32(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.dtype == torch.float64 else tensor.float()
