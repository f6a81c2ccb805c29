"""Nodes of the autograd graph as the operations that made them: their names, and what they multiply.

No saved tensor is read: that would run the hooks of whoever packs them.
"""

from __future__ import annotations

import math
import re
from typing import Any

from torch.autograd.function import BackwardCFunction

from torch_debugger.anatomy.graph_nodes import made_shape, op_name
from torch_debugger.records.op_graph import TensorForm

Shape = tuple[int, ...]

_NAMES = {
    "T": "t", "UnsafeView": "view", "ReshapeAlias": "reshape", "Slice": "getitem", "Select": "getitem",
    "Index": "getitem", "SplitWithSizes": "split", "SafeSplit": "split", "ToCopy": "to", "CopySlices": "copy_",
    "NativeLayerNorm": "layer_norm", "NativeGroupNorm": "group_norm", "NativeBatchNorm": "batch_norm",
    "CudnnBatchNorm": "batch_norm", "MiopenBatchNorm": "batch_norm", "NativeDropout": "dropout",
    "Convolution": "conv", "Addmm": "linear", "Bmm": "matmul", "Mm": "matmul",
    "MaxPool2DWithIndices": "max_pool2d", "MaxPool3DWithIndices": "max_pool3d",
    "UpsampleNearest2D": "interpolate", "UpsampleBilinear2D": "interpolate",
}  # fmt: skip
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=\dD)(?=[A-Z][a-z])")  # FractionalMaxPool2D|With|Indices
_ATTENTION = "ScaledDotProduct"
_PRODUCTS = {"Mm": 0, "Bmm": 0, "Mv": 0, "Dot": 0, "Addmm": 1, "Baddbmm": 1, "Addbmm": 1, "Addmv": 1}
_MAY_MULTIPLY = re.compile(r"Rnn|Lstm|Gru|Cdist|Trilinear|Euclidean|Mm|Conv|Attention|Linalg|Fft|Sparse|Einsum")


def operation_name(node: Any) -> str:
    """add, cat, view, scaled_dot_product_attention"""
    op = op_name(node).rsplit("::", 1)[-1]
    if op.startswith(_ATTENTION):
        return "scaled_dot_product_attention"
    return _NAMES.get(op) or _WORDS.sub("_", op).lower()


def made_forms(node: Any) -> tuple[TensorForm, ...]:
    """Of all that the operation made."""
    known = getattr(node, "_input_metadata", None) or ()
    return tuple(
        TensorForm(made_shape(node, place), str(each.dtype).removeprefix("torch."), str(each.device))
        for place, each in enumerate(known)
    )


def operation_macs(node: Any) -> int | None:
    """Multiply-accumulates, by the shapes of the operands that need a gradient; None where they do not tell."""
    op, made = op_name(node), made_shape(node)
    operands = [None if each is None else made_shape(each, nr) for each, nr in node.next_functions]
    if op in _PRODUCTS:
        return _product(made, *operands[_PRODUCTS[op] : _PRODUCTS[op] + 2], batched=op == "Addbmm")
    if op == "Linear":
        width = next((shape[-1] for shape in operands[:2] if shape), None)
        return None if width is None else math.prod(made) * width
    if op == "Convolution":
        return _convolution(made, operands[0], operands[1], bool(getattr(node, "_saved_transposed", False)))
    if op.startswith(_ATTENTION) and all(operands[:3]):
        return _attention(*operands[:3])  # type: ignore[arg-type]
    unknown = _MAY_MULTIPLY.search(op) or isinstance(node, BackwardCFunction)  # the user's own Function
    return None if unknown else 0


def _product(made: Shape, left: Shape | None, right: Shape | None = None, *, batched: bool) -> int | None:
    """[.., m, k] @ [.., k, n]; how long the rows are is told by either."""
    if left:
        inner = left[-1]
    elif right:
        inner = right[-2] if len(right) > 1 else right[-1]
    else:
        return None
    summed = (left or right or (1,))[0] if batched else 1
    return math.prod(made) * inner * summed


def _convolution(made: Shape, given: Shape | None, weight: Shape | None, transposed: bool) -> int | None:
    each = given if transposed else made
    return None if not each or not weight else math.prod(each) * math.prod(weight[1:])


def _attention(query: Shape, key: Shape, value: Shape) -> int:
    """[.., heads, length, width]: the scores of every query with every key, and the mix of the values."""
    return math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


def is_leaf_node(node: Any) -> bool:
    """What gathers the gradient of a parameter, or of an input: nothing made it."""
    return bool(node.name().endswith("AccumulateGrad"))
