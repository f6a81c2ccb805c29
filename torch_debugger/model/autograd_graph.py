"""The autograd graph read node by node: what each op is, the shape it made, what it was made from."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

from torch_debugger.records import AutogradNode
from torch_debugger.records.model import TensorForm
from torch_debugger.stats.dispatch_modes import item_of

_NUMBERED = re.compile(r"Backward\d*$")
_SCALARS = ("_saved_dim", "_saved_reduction", "_saved_ignore_index", "_saved_alpha", "_saved_keepdim")
_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


def read_nodes(
    root: Any, names: dict[int, str], limit: int = 64, factors: bool = False
) -> tuple[tuple[AutogradNode, ...], bool]:
    """The nodes nearest to `root` (a loss's grad_fn), breadth first; True when there were more.

    `factors` asks for the numbers that products were made with and for dropout, which are saved as tensors.
    """
    nodes, order, more = walk_nodes(root, limit)
    return tuple(_describe(node, order, names, factors) for node in nodes), more


def walk_nodes(root: Any, limit: int) -> tuple[list[Any], dict[Any, int], bool]:
    """The nodes themselves, the number of each in that order, and whether there were more."""
    order: dict[Any, int] = {root: 0}
    queue = deque([root])
    nodes: list[Any] = []
    while queue and len(nodes) < limit:
        node = queue.popleft()
        nodes.append(node)
        for operand, _ in node.next_functions:
            if operand is not None and operand not in order:
                order[operand] = len(order)
                queue.append(operand)
    return nodes, order, bool(queue)


def _describe(node: Any, order: dict[Any, int], names: dict[int, str], factors: bool) -> AutogradNode:
    # An operand beyond the limit keeps its number: it exists, but was not read.
    inputs = tuple(None if operand is None else order[operand] for operand, _ in node.next_functions)
    variable = getattr(node, "variable", None)
    parameter = names.get(id(variable), "") if variable is not None else None
    scalars: dict[str, float | str] = {}
    for name in _SCALARS:
        value = saved(node, name)
        if name == "_saved_reduction" and isinstance(value, int):
            scalars["reduction"] = _REDUCTIONS.get(value, str(value))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            scalars[name.removeprefix("_saved_")] = signed(value)
    if factors:
        scalars |= saved_factor(node)
        share = dropped_share(node)
        scalars |= {"dropped": share} if share is not None else {}
    return AutogradNode(op_name(node), made_shape(node), inputs, parameter, scalars)


def op_name(node: Any) -> str:
    """NllLoss for NllLossBackward0"""
    return _NUMBERED.sub("", node.name())


def made_shape(node: Any, output: int = 0) -> tuple[int, ...]:
    """The shape of what the op made, from the metadata of the gradient it expects; of several, this one."""
    metadata = getattr(node, "_input_metadata", None)
    if metadata:
        try:  # a nested tensor has sizes that are no numbers, or no shape at all: -1 stands for what differs
            return tuple(size if type(size) is int else -1 for size in metadata[output].shape)
        except RuntimeError:
            return (-1,)
    variable = getattr(node, "variable", None)
    return tuple(variable.shape) if variable is not None else ()


def saved(node: Any, name: str) -> Any:
    """What the forward saved in a node; None where it saved no such thing, or it is freed or overwritten."""
    try:
        return getattr(node, name, None)
    except RuntimeError:  # the user's own backward is about to say the same
        return None


def signed(value: float) -> float:
    """Autograd hands whole numbers out as unsigned ones of 64 bits: -1 comes as 2**64 - 1."""
    return value - 2**64 if value > 2**63 else value


def saved_factor(node: Any) -> dict[str, float | str]:
    """The number in `0.5 * x` or `x / 2`: a scalar, or a tensor of one element that is no wait away."""
    if op_name(node) not in ("Mul", "Div"):
        return {}
    value = saved(node, "_saved_other")
    if value is None:
        value = saved(node, "_saved_self")  # number * x
    if isinstance(value, torch.Tensor) and value.dim() == 0 and not value.is_cuda and not value.requires_grad:
        value = item_of(value)
    return {"factor": float(value)} if isinstance(value, (int, float)) else {}


def dropped_share(node: Any, looked_at: int = 1024) -> float | None:
    """The probability of a dropout. On the CPU that is a product with a mask of zeros and 1 / (1 - p)."""
    op = op_name(node)
    if op == "NativeDropout":
        share: float | None = saved(node, "_saved_p")
        return share
    mask = saved(node, "_saved_other") if op == "Mul" and node.next_functions[-1][0] is None else None
    if not isinstance(mask, torch.Tensor) or mask.is_cuda or not mask.is_contiguous() or mask.numel() < 32:
        return None
    values = mask.detach().reshape(-1)[:looked_at]
    factor, zeros = float(values.amax()), int((values == 0).sum())
    if factor <= 1.0 or zeros + int((values == factor).sum()) < len(values):
        return None
    share = 1.0 - 1.0 / factor
    by_chance = 5.0 * math.sqrt(share * (1.0 - share) / len(values))
    return round(share, 4) if abs(zeros / len(values) - share) <= by_chance else None


# Nodes of the autograd graph as the operations that made them: their names, and what they multiply.
#
# No saved tensor is read: that would run the hooks of whoever packs them.
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
        each = operands[0] if getattr(node, "_saved_transposed", False) else made
        return None if not each or not operands[1] else math.prod(each) * math.prod(operands[1][1:])
    if op.startswith(_ATTENTION) and all(operands[:3]):
        # [.., heads, length, width]: the scores of every query with every key, and the mix of the values.
        query, key, value = (shape or () for shape in operands[:3])
        return math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])
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


def is_leaf_node(node: Any) -> bool:
    """What gathers the gradient of a parameter, or of an input: nothing made it."""
    return bool(node.name().endswith("AccumulateGrad"))


# Where the dimensions of a tensor are after ops that only move them, by the shapes that autograd kept.

# Of each dimension now: those of the first tensor that it holds.
Dims = tuple[frozenset[int], ...]

_REGROUPING = ("View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze")
_KEEPING = ("Mul", "Div", "Expand", "Clone", "ToCopy", "Alias", "NativeDropout", "MaskedFill")
_NOTHING: frozenset[int] = frozenset()


def dims_of(shape: Sequence[int]) -> Dims:
    return tuple(frozenset({dim}) for dim in range(len(shape)))


def dims_after(taker: Any, producer: Any, dims: Dims) -> Dims | None:
    """The dimensions of what `taker` made of what `producer` made; None where it does more than move them."""
    op, made = op_name(taker), made_shape(taker)
    if op in _REGROUPING:
        # A view keeps the order of the elements: a dimension holds what its strides reach over.
        before = list(zip(dims, _reaches(made_shape(producer)), strict=True))
        return tuple(
            _NOTHING.union(*(origin for origin, (low, high) in before if max(low, start) < min(high, end)))
            for start, end in _reaches(made)
        )
    if op == "T":
        return dims[::-1]
    if op == "Transpose":
        first, second = (int(signed(saved(taker, f"_saved_dim{number}"))) for number in (0, 1))
        moved = list(dims)
        moved[first], moved[second] = moved[second], moved[first]
        return tuple(moved)
    if op == "Permute":
        return tuple(dims[int(signed(dim))] for dim in saved(taker, "_saved_dims"))
    operands = sum(operand is not None for operand, _ in taker.next_functions)
    if op in _KEEPING and len(made) >= len(dims) and (op != "Div" or operands == 1):
        return (_NOTHING,) * (len(made) - len(dims)) + dims
    return None


def summed_over(taker: Any, producer: Any, dims: Dims) -> frozenset[int] | None:
    """The dimensions that a sum or a product of matrices adds up over; None where it is neither."""
    op = op_name(taker)
    if op in ("Sum", "Mean"):
        chosen = saved(taker, "_saved_dim")
        over = [int(signed(dim)) for dim in chosen] if isinstance(chosen, (list, tuple)) else []
        return _NOTHING.union(*(dims[dim] for dim in over or range(len(dims))))
    if op in ("Bmm", "Mm") and len(dims) == (3 if op == "Bmm" else 2):
        return dims[-1] if taker.next_functions[0][0] is producer else dims[-2]
    return None


def _reaches(shape: Sequence[int]) -> list[tuple[int, int]]:
    reaches, stride = [], 1
    for size in reversed(shape):
        reaches.append((stride, stride * size))
        stride *= size
    return reaches[::-1]
