"""Multiply-accumulates of matrix products, from the shapes of what is multiplied."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

# The arguments of the operation, in the order of its schema, and what it made.
Formula = Callable[[tuple[Any, ...], Any], int]


def product_macs(left: torch.Tensor, right: torch.Tensor) -> int:
    """[.., m, k] @ [.., k, n]: each entry of the left meets n of the right; of a sparse one, those it has."""
    if right.is_nested:  # matrices of different lengths, one after the other
        return sum(product_macs(*pair) for pair in zip(left.unbind(), right.unbind(), strict=True))
    columns = right.shape[-1] if right.ndim > 1 else 1
    if left.layout is not torch.strided:
        return _stored(left) * columns
    if right.layout is not torch.strided:
        rows = left.shape[-2] if left.ndim > 1 else 1
        return _stored(right) * rows
    return left.numel() * columns


def _stored(sparse: torch.Tensor) -> int:
    stored = sparse._nnz()
    if sparse.layout in (torch.sparse_bsr, torch.sparse_bsc):
        stored *= sparse.values().shape[-1] * sparse.values().shape[-2]
    return int(stored)


def operands_at(first: int) -> Formula:
    """The two factors stand side by side among the arguments."""
    return lambda args, made: product_macs(args[first], args[first + 1])


def _grouped(args: tuple[Any, ...], made: Any) -> int:
    """Each row, or each column, belongs to one of the groups; where both operands have them, it is a batch."""
    left, right = args[:2]
    return product_macs(left, right) // (left.shape[0] if left.ndim > right.ndim else 1)


def _trilinear(args: tuple[Any, ...], made: Any) -> int:
    """nn.Bilinear: three operands spread out to one shape, each element of which is one multiply-accumulate."""
    shapes = [list(tensor.shape) for tensor in args[:3]]
    for shape, spread in zip(shapes, args[3:6], strict=True):
        for place in sorted(spread):
            shape.insert(place, 1)
    return math.prod(max(lengths) for lengths in zip(*shapes, strict=True))


MATRIX_PRODUCTS: dict[str, Formula] = {
    **dict.fromkeys(
        (
            "mm", "bmm", "mv", "dot", "vdot", "_int_mm", "_scaled_mm", "_sparse_mm", "matmul", "inner",
            "_scaled_mm_v2", "_sparse_sparse_matmul",
        ),
        operands_at(0),
    ),
    **dict.fromkeys(
        ("addmm", "addbmm", "baddbmm", "addmv", "_addmm_activation", "_sparse_addmm"),
        operands_at(1),
    ),
    **dict.fromkeys(
        ("linear", "mkldnn_linear", "_sparse_semi_structured_linear"),
        lambda args, made: args[0].numel() * args[1].shape[0],  # [.., in] with a weight [out, in]
    ),
    **dict.fromkeys(
        ("_weight_int4pack_mm", "_weight_int8pack_mm", "_weight_int4pack_mm_for_cpu"),
        # the weight's own shape tells how it is packed: what came out tells how many columns there are
        lambda args, made: args[0].numel() * made.shape[-1],
    ),
    **dict.fromkeys(("_grouped_mm", "_scaled_grouped_mm", "_scaled_grouped_mm_v2"), _grouped),
    # only the entries that the sparse first operand has are computed
    "sparse_sampled_addmm": lambda args, made: _stored(args[0]) * args[1].shape[-1],
    "_trilinear": _trilinear,
    # torch.cdist of many points: |x - y|^2 = |x|^2 + |y|^2 - 2xy, of which the last is a product
    "_euclidean_dist": lambda args, made: made.numel() * args[0].shape[-1],
}  # fmt: skip


# Multiply-accumulates of convolutions: each output (of a transposed one, each input) meets one filter.
#
# Zeros of the padding are counted as any other value, as papers do.
_TRANSPOSED = 6  # place of that argument in aten::convolution; in its backward one more stands in front


def convolution_macs(inputs: torch.Tensor, weight: torch.Tensor, made: torch.Tensor, transposed: bool) -> int:
    """A weight is [out, in / groups, *kernel], of a transposed one [in, out / groups, *kernel]."""
    each = inputs if transposed else made
    return each.numel() * math.prod(weight.shape[1:])


def _convolution_formula(transposed: bool) -> Formula:
    def macs(args: tuple[Any, ...], made: Any) -> int:
        return convolution_macs(args[0], args[1], made if isinstance(made, torch.Tensor) else made[0], transposed)

    return macs


def _backward(args: tuple[Any, ...], made: Any) -> int:
    """The gradients of input and weight take one convolution each, where they are asked for."""
    grad, inputs, weight = args[:3]
    output_mask = args[_TRANSPOSED + 4]
    once = convolution_macs(inputs, weight, grad, bool(args[_TRANSPOSED + 1]))
    return once * (bool(output_mask[0]) + bool(output_mask[1]))


CONVOLUTIONS: dict[str, Formula] = {
    **dict.fromkeys(
        ("convolution", "_convolution", "convolution_overrideable"),
        lambda args, made: convolution_macs(args[0], args[1], made, bool(args[_TRANSPOSED])),
    ),
    **dict.fromkeys(
        (
            "cudnn_convolution", "miopen_convolution", "miopen_convolution_relu", "mkldnn_convolution",
            "_slow_conv2d_forward",
            "_conv_depthwise2d", "conv_depthwise3d", "slow_conv3d_forward", "cudnn_convolution_relu",
            "cudnn_convolution_add_relu", "miopen_depthwise_convolution", "slow_conv_dilated2d",
            "slow_conv_dilated3d", "thnn_conv2d",
        ),
        _convolution_formula(transposed=False),
    ),
    **dict.fromkeys(
        (
            "cudnn_convolution_transpose", "miopen_convolution_transpose", "slow_conv_transpose2d",
            "slow_conv_transpose3d",
        ),
        _convolution_formula(transposed=True),
    ),
    **dict.fromkeys(("convolution_backward", "convolution_backward_overrideable"), _backward),
    "conv_tbc": lambda args, made: made.numel() * math.prod(args[1].shape[:2]),  # weight [kernel, in, out]
}  # fmt: skip


# Multiply-accumulates of fused attention: the scores of every query with every key, and the mix of the values.
#
# A causal mask is not taken off: papers count the whole square, and most kernels compute it. A fused backward
# computes the scores once more and then four products, so five in all.
class UnknownSizeError(Exception):
    """How much is computed depends on values, such as the lengths of packed sequences."""


def _attention_formula(
    products: Callable[..., int],
    first: int,
    shape_of: Callable[[torch.Tensor], Sequence[int]] = lambda each: each.shape,
) -> Formula:
    """`first`: the place of the query among the arguments; in a backward the gradient stands in front of it."""
    return lambda args, made: products(*map(shape_of, args[first : first + 3]))


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
    inputs, width, hidden = args[0], args[1], args[14].shape[0]
    return int(inputs.numel() * (4 * width + 2 * hidden)) + _square(inputs, inputs)


def _square(query: torch.Tensor, key: torch.Tensor) -> int:
    """Of all heads together, for [batch, length, width] or nested sequences of different lengths."""
    if query.is_nested:
        return sum(2 * one.numel() * other.shape[-2] for one, other in zip(query.unbind(), key.unbind(), strict=True))
    return 2 * query.numel() * key.shape[-2]


_ATTENTION_FORWARD = _attention_formula(_scores_and_mix, 0)

ATTENTION: dict[str, Formula] = {
    **{
        name: formula
        for kind in (
            "flash_attention_for_cpu", "flash_attention", "efficient_attention", "cudnn_attention",
            "fused_attention_overrideable",
        )
        for name, formula in (
            (f"_scaled_dot_product_{kind}", _ATTENTION_FORWARD),
            (f"_scaled_dot_product_{kind}_backward", _attention_formula(_backward_products, 1)),
        )
    },
    **dict.fromkeys(("_scaled_dot_product_attention_math_for_mps", "flex_attention"), _ATTENTION_FORWARD),
    "flex_attention_backward": _attention_formula(_backward_products, 0),
    **dict.fromkeys(
        ("_flash_attention_forward", "_efficient_attention_forward"),
        _attention_formula(_scores_and_mix, 0, _heads_first),
    ),
    **dict.fromkeys(
        ("_flash_attention_backward", "_efficient_attention_backward"),
        _attention_formula(_backward_products, 1, _heads_first),
    ),
    "_native_multi_head_attention": _multi_head,
    "_transformer_encoder_layer_fwd": _encoder_layer,
}  # fmt: skip


# Multiply-accumulates of fused recurrent layers: every step of a sequence meets every weight matrix once.
def recurrent_macs(inputs: torch.Tensor, weights: Iterable[torch.Tensor]) -> int:
    """[steps, batch, width], or packed: [steps of all sequences, width]. Biases have one dimension."""
    steps = inputs.numel() // max(1, inputs.shape[-1])
    return steps * sum(weight.numel() for weight in weights if weight.ndim > 1)


def _one_layer(args: tuple[Any, ...], made: Any) -> int:
    """aten::mkldnn_rnn_layer(input, weight_ih, weight_hh, bias_ih, bias_hh, ...)"""
    return recurrent_macs(args[0], args[1:3])


def _cudnn_layers(args: tuple[Any, ...], made: Any) -> int:
    """aten::_cudnn_rnn(input, weights, ...)"""
    return recurrent_macs(args[0], args[1])


def _cudnn_backward(args: tuple[Any, ...], made: Any) -> int:
    """The gradients of what flows through the steps, and those of the weights where they are asked for."""
    return _cudnn_layers(args, made) * (1 + bool(args[-1][3]))


RECURRENCES: dict[str, Formula] = {
    "mkldnn_rnn_layer": _one_layer,
    # the gradients of inputs and weights, whether or not they are asked for: the kernel has no switch
    "mkldnn_rnn_layer_backward": lambda args, made: 2 * _one_layer(args, made),
    "_cudnn_rnn": _cudnn_layers,
    "miopen_rnn": _cudnn_layers,
    "_cudnn_rnn_backward": _cudnn_backward,
    "miopen_rnn_backward": _cudnn_backward,
}


# Multiply-accumulates of one call of a layer of torch's own, by its class and the shapes that it was given.
Shape = tuple[int, ...]

# They compute for each element, or sum up: nothing that is counted as a multiply-accumulate.
_ELEMENTWISE = (
    nn.modules.activation.__name__,
    nn.modules.batchnorm.__name__,
    nn.modules.channelshuffle.__name__,
    nn.modules.distance.__name__,
    nn.modules.dropout.__name__,
    nn.modules.flatten.__name__,
    nn.modules.fold.__name__,
    nn.modules.instancenorm.__name__,
    nn.modules.loss.__name__,
    nn.modules.normalization.__name__,
    nn.modules.padding.__name__,
    nn.modules.pixelshuffle.__name__,
    nn.modules.pooling.__name__,
    nn.modules.sparse.__name__,
    nn.modules.upsampling.__name__,
)


def layer_macs(module: nn.Module, inputs: Sequence[Shape], made: Sequence[Shape]) -> int | None:
    """None where the class is not known to us, or a shape is ragged."""
    if not inputs or not made or any(size < 0 for shape in (*inputs, *made) for size in shape):
        return None
    if isinstance(module, nn.Linear):
        return math.prod(made[0]) * module.in_features
    if isinstance(module, nn.Bilinear):
        return math.prod(made[0]) * int(module.in1_features) * int(module.in2_features)
    if isinstance(module, _ConvNd):
        return _convolution(module, inputs[0], made[0])
    if isinstance(module, nn.MultiheadAttention):
        return _attention(module, inputs)
    if isinstance(module, (nn.RNNBase, nn.RNNCellBase)):
        # every step of every sequence meets every matrix once; biases have one dimension
        steps = math.prod(inputs[0][:-1])
        return steps * sum(weight.numel() for weight in module.parameters() if weight.dim() > 1)
    known = isinstance(module, nn.Identity) or type(module).__module__ in _ELEMENTWISE
    return 0 if known else None


def _convolution(module: _ConvNd, inputs: Shape, made: Shape) -> int:
    """Each output, of a transposed one each input, meets one filter."""
    transposed = isinstance(module, _ConvTransposeNd)
    channels = module.out_channels if transposed else module.in_channels
    each = math.prod(inputs if transposed else made)
    return each * (channels // module.groups) * math.prod(module.kernel_size)


def _attention(module: nn.MultiheadAttention, inputs: Sequence[Shape]) -> int | None:
    """Three projections, the scores and the mix of the values, one more projection."""
    if len(inputs) < 3:
        return None  # one tensor given by keyword, or twice: which is which is not known
    query, key, value = inputs[:3]
    width = int(module.embed_dim)
    sequence = -2 if module.batch_first or len(key) == 2 else 0
    keys = key[sequence] + (module.bias_k is not None) + bool(module.add_zero_attn)
    tokens = math.prod(query[:-1])
    projected: int = tokens * 2 * width + math.prod(key) + math.prod(value)
    return projected * width + 2 * tokens * keys * width
