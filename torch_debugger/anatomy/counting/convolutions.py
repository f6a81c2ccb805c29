"""Multiply-accumulates of convolutions: each output (of a transposed one, each input) meets one filter.

Zeros of the padding are counted as any other value, as papers do.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from torch_debugger.anatomy.counting.matrix_products import Formula

_TRANSPOSED = 6  # place of that argument in aten::convolution; in its backward one more stands in front


def convolution_macs(given: torch.Tensor, weight: torch.Tensor, made: torch.Tensor, transposed: bool) -> int:
    """A weight is [out, in / groups, *kernel], of a transposed one [in, out / groups, *kernel]."""
    each = given if transposed else made
    return each.numel() * math.prod(weight.shape[1:])


def _forward(args: tuple[Any, ...], made: Any) -> int:
    return convolution_macs(args[0], args[1], made, bool(args[_TRANSPOSED]))


def _plain(args: tuple[Any, ...], made: Any) -> int:
    return convolution_macs(args[0], args[1], _first(made), False)


def _transposed(args: tuple[Any, ...], made: Any) -> int:
    return convolution_macs(args[0], args[1], _first(made), True)


def _backward(args: tuple[Any, ...], made: Any) -> int:
    """The gradients of input and weight take one convolution each, where they are asked for."""
    grad, given, weight = args[:3]
    asked = args[_TRANSPOSED + 4]
    once = convolution_macs(given, weight, grad, bool(args[_TRANSPOSED + 1]))
    return once * (bool(asked[0]) + bool(asked[1]))


def _first(made: Any) -> torch.Tensor:
    return made if isinstance(made, torch.Tensor) else made[0]


CONVOLUTIONS: dict[str, Formula] = {
    **dict.fromkeys(("convolution", "_convolution", "convolution_overrideable"), _forward),
    **dict.fromkeys(
        (
            "cudnn_convolution", "miopen_convolution", "miopen_convolution_relu", "mkldnn_convolution",
            "_slow_conv2d_forward",
            "_conv_depthwise2d", "conv_depthwise3d", "slow_conv3d_forward", "cudnn_convolution_relu",
            "cudnn_convolution_add_relu", "miopen_depthwise_convolution", "slow_conv_dilated2d",
            "slow_conv_dilated3d", "thnn_conv2d",
        ),
        _plain,
    ),
    **dict.fromkeys(
        (
            "cudnn_convolution_transpose", "miopen_convolution_transpose", "slow_conv_transpose2d",
            "slow_conv_transpose3d",
        ),
        _transposed,
    ),
    **dict.fromkeys(("convolution_backward", "convolution_backward_overrideable"), _backward),
    "conv_tbc": lambda args, made: made.numel() * math.prod(args[1].shape[:2]),  # weight [kernel, in, out]
}  # fmt: skip
