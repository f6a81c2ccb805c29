"""Multiply-accumulates of fused attention: the scores of every query with every key, and the mix of the values.

A causal mask is not taken off: papers count the whole square, and most kernels compute it. A fused backward
computes the scores once more and then four products, so five in all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from torch_debugger.anatomy.counting.matrix_products import Formula


class UnknownSizeError(Exception):
    """How much is computed depends on values, such as the lengths of packed sequences."""


def _forward(args: tuple[Any, ...], made: Any) -> int:
    return _scores_and_mix(*(tensor.shape for tensor in args[:3]))


def _backward(args: tuple[Any, ...], made: Any) -> int:
    """The gradient of what came out stands in front of query, key and value."""
    return _backward_products(*(tensor.shape for tensor in args[1:4]))


def _forward_heads_last(args: tuple[Any, ...], made: Any) -> int:
    return _scores_and_mix(*map(_heads_first, args[:3]))


def _backward_heads_last(args: tuple[Any, ...], made: Any) -> int:
    return _backward_products(*map(_heads_first, args[1:4]))


def _scores_and_mix(query: Sequence[int], key: Sequence[int], value: Sequence[int]) -> int:
    """[.., heads, length, width]; keys may have fewer heads than queries."""
    return math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


def _backward_products(query: Sequence[int], key: Sequence[int], value: Sequence[int]) -> int:
    """Over the width of keys: scores, gradients of query and key; of values: gradients of value and weights."""
    return math.prod(query[:-1]) * key[-2] * (3 * query[-1] + 2 * value[-1])


def _heads_first(tensor: torch.Tensor) -> tuple[int, ...]:
    """[batch, length, heads, width]; without a batch they are sequences of different lengths, packed."""
    if tensor.ndim != 4:
        raise UnknownSizeError
    batch, length, heads, width = tensor.shape
    return batch, heads, length, width


def _multi_head(args: tuple[Any, ...], made: Any) -> int:
    """torch._native_multi_head_attention: three projections, attention, one more projection."""
    query, key, value, width = args[:4]
    rows = query.numel() + key.numel() + value.numel() + query.numel()
    return int(rows * width) + _square(query, key)


def _encoder_layer(args: tuple[Any, ...], made: Any) -> int:
    """torch._transformer_encoder_layer_fwd: self-attention and two linear layers in one operation."""
    given, width, hidden = args[0], args[1], args[14].shape[0]
    return int(given.numel() * (4 * width + 2 * hidden)) + _square(given, given)


def _square(query: torch.Tensor, key: torch.Tensor) -> int:
    """Of all heads together, for [batch, length, width] or nested sequences of different lengths."""
    if query.is_nested:
        return sum(
            2 * one.numel() * other.shape[-2] for one, other in zip(query.unbind(), key.unbind(), strict=True)
        )
    return 2 * query.numel() * key.shape[-2]


ATTENTION: dict[str, Formula] = {
    **{
        name: formula
        for kind in (
            "flash_attention_for_cpu", "flash_attention", "efficient_attention", "cudnn_attention",
            "fused_attention_overrideable",
        )
        for name, formula in (
            (f"_scaled_dot_product_{kind}", _forward),
            (f"_scaled_dot_product_{kind}_backward", _backward),
        )
    },
    **dict.fromkeys(("_scaled_dot_product_attention_math_for_mps", "flex_attention"), _forward),
    "flex_attention_backward": lambda args, made: _backward((None, *args), made),
    **dict.fromkeys(("_flash_attention_forward", "_efficient_attention_forward"), _forward_heads_last),
    **dict.fromkeys(("_flash_attention_backward", "_efficient_attention_backward"), _backward_heads_last),
    "_native_multi_head_attention": _multi_head,
    "_transformer_encoder_layer_fwd": _encoder_layer,
}  # fmt: skip
