"""Multiply-accumulates of fused recurrent layers: every step of a sequence meets every weight matrix once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from torch_debugger.anatomy.counting.matrix_products import Formula


def recurrent_macs(given: torch.Tensor, weights: Iterable[torch.Tensor]) -> int:
    """[steps, batch, width], or packed: [steps of all sequences, width]. Biases have one dimension."""
    steps = given.numel() // max(1, given.shape[-1])
    return steps * sum(weight.numel() for weight in weights if weight.ndim > 1)


def _one_layer(args: tuple[Any, ...], made: Any) -> int:
    """aten::mkldnn_rnn_layer(input, weight_ih, weight_hh, bias_ih, bias_hh, ...)"""
    return recurrent_macs(args[0], args[1:3])


def _one_layer_backward(args: tuple[Any, ...], made: Any) -> int:
    """The gradients of inputs and weights, whether or not they are asked for: the kernel has no switch."""
    return 2 * _one_layer(args, made)


def _whole(args: tuple[Any, ...], made: Any) -> int:
    """aten::_cudnn_rnn(input, weights, ...)"""
    return recurrent_macs(args[0], args[1])


def _cudnn_backward(args: tuple[Any, ...], made: Any) -> int:
    """The gradients of what flows through the steps, and those of the weights where they are asked for."""
    return _whole(args, made) * (1 + bool(args[-1][3]))


RECURRENCES: dict[str, Formula] = {
    "mkldnn_rnn_layer": _one_layer,
    "mkldnn_rnn_layer_backward": _one_layer_backward,
    "_cudnn_rnn": _whole,
    "miopen_rnn": _whole,
    "_cudnn_rnn_backward": _cudnn_backward,
    "miopen_rnn_backward": _cudnn_backward,
}
