"""Multiply-accumulates of one call of a layer of torch's own, by its class and the shapes that it was given."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import nn
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

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


def layer_macs(module: nn.Module, given: Sequence[Shape], made: Sequence[Shape]) -> int | None:
    """None where the class is not known to us, or a shape is ragged."""
    if not given or not made or any(size < 0 for shape in (*given, *made) for size in shape):
        return None
    if isinstance(module, nn.Linear):
        return math.prod(made[0]) * module.in_features
    if isinstance(module, nn.Bilinear):
        return math.prod(made[0]) * int(module.in1_features) * int(module.in2_features)
    if isinstance(module, _ConvNd):
        return _convolution(module, given[0], made[0])
    if isinstance(module, nn.MultiheadAttention):
        return _attention(module, given)
    if isinstance(module, (nn.RNNBase, nn.RNNCellBase)):
        return _recurrent(module, given[0])
    known = isinstance(module, nn.Identity) or type(module).__module__ in _ELEMENTWISE
    return 0 if known else None


def _convolution(module: _ConvNd, given: Shape, made: Shape) -> int:
    """Each output, of a transposed one each input, meets one filter."""
    transposed = isinstance(module, _ConvTransposeNd)
    channels = module.out_channels if transposed else module.in_channels
    each = math.prod(given if transposed else made)
    return each * (channels // module.groups) * math.prod(module.kernel_size)


def _attention(module: nn.MultiheadAttention, given: Sequence[Shape]) -> int | None:
    """Three projections, the scores and the mix of the values, one more projection."""
    if len(given) < 3:
        return None  # one tensor given by keyword, or twice: which is which is not known
    query, key, value = given[:3]
    width = int(module.embed_dim)
    sequence = -2 if module.batch_first or len(key) == 2 else 0
    keys = key[sequence] + (module.bias_k is not None) + bool(module.add_zero_attn)
    tokens = math.prod(query[:-1])
    projected: int = tokens * 2 * width + math.prod(key) + math.prod(value)
    return projected * width + 2 * tokens * keys * width


def _recurrent(module: nn.RNNBase | nn.RNNCellBase, given: Shape) -> int:
    """Every step of every sequence meets every matrix once; biases have one dimension."""
    steps = math.prod(given[:-1])
    return steps * sum(weight.numel() for weight in module.parameters() if weight.dim() > 1)
