"""Multiply-accumulates of matrix products, from the shapes of what is multiplied."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

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


def _linear(args: tuple[Any, ...], made: Any) -> int:
    """[.., in] with a weight [out, in]"""
    return int(args[0].numel() * args[1].shape[0])


def _sampled(args: tuple[Any, ...], made: Any) -> int:
    """Only the entries that the sparse first operand has are computed."""
    return int(_stored(args[0]) * args[1].shape[-1])


def _packed_weight(args: tuple[Any, ...], made: Any) -> int:
    """The weight's own shape tells how it is packed: what came out tells how many columns there are."""
    return int(args[0].numel() * made.shape[-1])


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


def _distances(args: tuple[Any, ...], made: Any) -> int:
    """torch.cdist of many points: |x - y|^2 = |x|^2 + |y|^2 - 2xy, of which the last is a product."""
    return int(made.numel() * args[0].shape[-1])


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
    **dict.fromkeys(("linear", "mkldnn_linear", "_sparse_semi_structured_linear"), _linear),
    **dict.fromkeys(
        ("_weight_int4pack_mm", "_weight_int8pack_mm", "_weight_int4pack_mm_for_cpu"), _packed_weight
    ),
    **dict.fromkeys(("_grouped_mm", "_scaled_grouped_mm", "_scaled_grouped_mm_v2"), _grouped),
    "sparse_sampled_addmm": _sampled,
    "_trilinear": _trilinear,
    "_euclidean_dist": _distances,
}  # fmt: skip
