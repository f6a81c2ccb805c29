"""Where the dimensions of a tensor are after ops that only move them, by the shapes that autograd kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_debugger.anatomy.graph_nodes import made_shape, op_name, saved, signed

# Of each dimension now: those of the first tensor that it holds.
Dims = tuple[frozenset[int], ...]

_REGROUPING = ("View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze")
_KEEPING = ("Mul", "Div", "Expand", "Clone", "ToCopy", "Alias", "NativeDropout", "MaskedFill")
_NOTHING: frozenset[int] = frozenset()


def dims_of(shape: Sequence[int]) -> Dims:
    return tuple(frozenset({dim}) for dim in range(len(shape)))


def dims_after(taker: Any, given: Any, dims: Dims) -> Dims | None:
    """The dimensions of what `taker` made of what `given` made; None where it does more than move them."""
    op, made = op_name(taker), made_shape(taker)
    if op in _REGROUPING:
        return _regrouped(dims, made_shape(given), made)
    if op == "T":
        return dims[::-1]
    if op == "Transpose":
        first, second = (int(signed(saved(taker, f"_saved_dim{number}"))) for number in (0, 1))
        return _swapped(dims, first, second)
    if op == "Permute":
        return tuple(dims[int(signed(dim))] for dim in saved(taker, "_saved_dims"))
    if op in _KEEPING and len(made) >= len(dims) and (op != "Div" or _has_one_operand(taker)):
        return (_NOTHING,) * (len(made) - len(dims)) + dims
    return None


def summed_over(taker: Any, given: Any, dims: Dims) -> frozenset[int] | None:
    """The dimensions that a sum or a product of matrices adds up over; None where it is neither."""
    op = op_name(taker)
    if op in ("Sum", "Mean"):
        chosen = saved(taker, "_saved_dim")
        over = [int(signed(dim)) for dim in chosen] if isinstance(chosen, (list, tuple)) else []
        return _NOTHING.union(*(dims[dim] for dim in over or range(len(dims))))
    if op in ("Bmm", "Mm") and len(dims) == (3 if op == "Bmm" else 2):
        return dims[-1] if taker.next_functions[0][0] is given else dims[-2]
    return None


def _has_one_operand(node: Any) -> bool:
    return sum(operand is not None for operand, _ in node.next_functions) == 1


def _swapped(dims: Dims, first: int, second: int) -> Dims:
    moved = list(dims)
    moved[first], moved[second] = moved[second], moved[first]
    return tuple(moved)


def _regrouped(dims: Dims, shape: Sequence[int], into: Sequence[int]) -> Dims:
    """A view keeps the order of the elements: a dimension holds what its strides reach over."""
    given = list(zip(dims, _reaches(shape), strict=True))
    return tuple(
        _NOTHING.union(*(held for held, (low, high) in given if max(low, start) < min(high, end)))
        for start, end in _reaches(into)
    )


def _reaches(shape: Sequence[int]) -> list[tuple[int, int]]:
    reaches, stride = [], 1
    for size in reversed(shape):
        reaches.append((stride, stride * size))
        stride *= size
    return reaches[::-1]
