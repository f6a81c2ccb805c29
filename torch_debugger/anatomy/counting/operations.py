"""What one operation costs: multiply-accumulates, other arithmetic, and bytes read and written."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from torch_debugger.anatomy.counting.arithmetic import (
    BAGS,
    ELEMENTWISE,
    MOVEMENT,
    NOTHING,
    READS_WHAT_IT_MAKES,
    REDUCTIONS,
)
from torch_debugger.anatomy.counting.attention import ATTENTION, UnknownSizeError
from torch_debugger.anatomy.counting.convolutions import CONVOLUTIONS
from torch_debugger.anatomy.counting.matrix_products import MATRIX_PRODUCTS, Formula
from torch_debugger.anatomy.counting.recurrences import RECURRENCES
from torch_debugger.anatomy.nested import tensors_in

PRODUCTS: dict[str, Formula] = {**MATRIX_PRODUCTS, **CONVOLUTIONS, **ATTENTION, **RECURRENCES}
_REAL_MACS_OF_A_COMPLEX_ONE = 4  # (a + bi)(c + di): four products, each added to a sum
_QUERIES = ("prim", "profiler", "debugprims")  # namespaces of operations that ask or note something


class Cost(NamedTuple):
    macs: int
    elementwise: int  # FLOPs
    bytes: int
    counted: bool
    dtype: torch.dtype | None  # of the factors of a product


FREE = Cost(0, 0, 0, True, None)


def cost_of(func: Any, args: Sequence[Any], kwargs: dict[str, Any], made: Any) -> Cost:
    """From shapes and dtypes alone; operations that nobody told us about are not counted and say so."""
    name = operation_name(func)
    kind = _kind(func)
    if kind == "nothing":
        return FREE
    given, results = list(tensors_in((args, kwargs))), list(tensors_in(made))
    size = _bytes(name, given, results)
    if kind == "product":
        return _product(name, _in_order(func, args, kwargs), made, size, given)
    if kind == "bag":
        return _bag(args[0], args[1], results)
    if kind == "elementwise":
        return Cost(0, sum(tensor.numel() for tensor in (results or given)[:1]), size, True, None)
    if kind == "reduction":
        return Cost(0, given[0].numel() if given else 0, size, True, None)
    return Cost(0, 0, size, kind == "movement", None)


def _bag(table: torch.Tensor, rows: torch.Tensor, made: list[torch.Tensor]) -> Cost:
    """Of the table only the rows that are asked for."""
    read = rows.numel() * table.shape[-1]
    return Cost(0, read, read * table.element_size() + _size(rows) + _size(made[0]), True, None)


def _product(name: str, args: tuple[Any, ...], made: Any, size: int, given: list[torch.Tensor]) -> Cost:
    try:
        macs = PRODUCTS[name](args, made)
    except UnknownSizeError:
        return Cost(0, 0, size, False, None)
    dtype = given[min(1, len(given) - 1)].dtype
    factor = _REAL_MACS_OF_A_COMPLEX_ONE if dtype.is_complex else 1
    return Cost(macs * factor, 0, size, True, dtype)


@functools.cache
def operation_name(func: Any) -> str:
    """mm for aten::mm.default, add for add_; with its namespace where it is not torch's own."""
    packet = getattr(func, "overloadpacket", None)
    if packet is None:
        return str(getattr(func, "name", lambda: func)())
    name = str(packet.__name__)
    if func.namespace != "aten":
        return f"{func.namespace}::{name}"
    return name.rstrip("_") if not name.startswith("__") else name.strip("_")


@functools.cache
def _kind(func: Any) -> str:
    name = operation_name(func)
    for kind, names in (
        ("product", PRODUCTS),
        ("nothing", NOTHING),
        ("movement", MOVEMENT),
        ("bag", BAGS),
        ("reduction", REDUCTIONS),
        ("elementwise", ELEMENTWISE),
    ):
        if name in names:
            return kind
    if getattr(func, "namespace", "") in _QUERIES or is_view(func):
        return "nothing"
    if name.endswith("_copy"):  # view_copy: what would be a view, as a tensor of its own
        return "movement"
    return "elementwise" if _is_pointwise(func) else "unknown"


def is_view(func: Any) -> bool:
    """It gives back memory that it was given, and does not write into it."""
    schema = getattr(func, "_schema", None)
    aliases = [result.alias_info for result in schema.returns] if schema else []
    return any(alias is not None and not alias.is_write for alias in aliases)


def _is_pointwise(func: Any) -> bool:
    """An in-place or foreach form may lack the tag that the plain one has."""
    if torch.Tag.pointwise in getattr(func, "tags", ()):
        return True
    if getattr(func, "namespace", "") != "aten":
        return False
    plain = getattr(torch.ops.aten, operation_name(func).removeprefix("_foreach_"), None)
    overloads = plain.overloads() if plain is not None else []
    return any(torch.Tag.pointwise in getattr(plain, each).tags for each in overloads)


def _bytes(name: str, given: list[torch.Tensor], made: list[torch.Tensor]) -> int:
    """Each operand once; nothing is known of caches and of what a compiler would fuse."""
    if name in RECURRENCES:  # without the workspace that a kernel keeps for its backward
        given, made = ([tensor for tensor in some if tensor.dtype != torch.uint8] for some in (given, made))
    written = sum(_size(tensor) for tensor in made)
    if name in READS_WHAT_IT_MAKES:
        return written * 2 + sum(_size(tensor) for tensor in given[1:])
    return written + sum(_size(tensor) for tensor in given)


def _size(tensor: torch.Tensor) -> int:
    count = tensor.numel() if tensor.layout is torch.strided else tensor._nnz()
    return count * tensor.element_size()


def _in_order(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Operands that were given by name stand where the schema has them."""
    schema = getattr(func, "_schema", None)
    if not kwargs or schema is None:
        return tuple(args)
    missing = object()
    rest = [kwargs.get(each.name, missing) for each in schema.arguments[len(args) :]]
    while rest and rest[-1] is missing:
        rest.pop()
    return (*args, *(None if each is missing else each for each in rest))
