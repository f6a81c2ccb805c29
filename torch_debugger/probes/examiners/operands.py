"""The tensors that meet in an expression of the user's, as objects, read from its frame without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from torch import nn

from torch_debugger.anatomy.kinds import is_one_of
from torch_debugger.probes.crash_frames import Seen, attribute, is_tensor
from torch_debugger.probes.crash_source import failing_expression, statement_at

# What these give is on another device, or is no tensor at all.
_NOT_THE_TENSOR = frozenset({
    "to", "cuda", "cpu", "mps", "xpu", "type_as", "to_device", "size", "dim", "numel", "shape", "device",
    "dtype", "item", "tolist", "numpy", "len", "range", "new_zeros", "new_ones", "new_full", "new_tensor",
    "zeros_like",
    "ones_like", "rand_like", "randn_like", "full_like", "empty_like",
})  # fmt: skip
_VIEWS = ("T", "mT", "H", "data", "real", "imag")
_ENTRIES = 64

Named = tuple[str, Any]  # the user's text for it, the tensor


def running_expression(seen: Seen) -> str:
    """The expression of the frame's line that raised; where Python does not tell, the statement's whole one."""
    told = failing_expression(seen.frame.f_code, seen.instruction)
    return told or _right_side(statement_at(seen.file, seen.line)[1])


def _right_side(code: str) -> str:
    """The expression of a statement, where Python does not tell which one raised."""
    operation = re.fullmatch(r"(?s)([\w.\[\]]+)\s*([-+*/@])=\s*(.+)", code)
    if operation is not None:
        return f"{operation[1]} {operation[2]} ({operation[3]})"
    return re.sub(r"(?s)^(return\s+|[\w.\[\], ]+=(?!=)\s*)", "", code)


def operands_of(seen: Seen, expression: str) -> list[Named]:
    """The tensors that meet in an expression, under the names it gives them."""
    try:
        node = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError):
        return []
    return list(_operands(node, seen, outermost=True))


def _operands(node: ast.AST, seen: Seen, outermost: bool = False) -> Iterator[Named]:
    held = resolve(node, seen)
    if is_tensor(held):
        yield ast.unparse(node), held
    elif is_one_of(held, (list, tuple)):
        parts = enumerate(held[:_ENTRIES])
        yield from ((f"{ast.unparse(node)}[{index}]", part) for index, part in parts if is_tensor(part))
    elif isinstance(node, ast.Call):
        yield from _of_call(node, seen, outermost)
    elif isinstance(node, ast.Attribute):
        yield from _operands(node.value, seen) if node.attr in _VIEWS else ()
    elif isinstance(node, ast.Subscript):
        yield from _operands(node.value, seen)
        yield from _operands(node.slice, seen)
    elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Tuple, ast.List, ast.keyword, ast.Starred)):
        for part in ast.iter_child_nodes(node):
            yield from _operands(part, seen)


def _of_call(node: ast.Call, seen: Seen, outermost: bool) -> Iterator[Named]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    function = resolve(node.func, seen)
    # What a model or a function of the user's makes of its arguments is not known from the text.
    opaque = issubclass(type(function), nn.Module) or isinstance(node.func, ast.Name)
    if not outermost and (opaque or name in _NOT_THE_TENSOR):
        return
    if isinstance(node.func, ast.Attribute):
        yield from _operands(node.func.value, seen)
    for part in (*node.args, *node.keywords):
        yield from _operands(part, seen)


def resolve(node: ast.AST, seen: Seen) -> Any:
    """The object an expression names, read from dictionaries only: no property, no __getattr__ is run."""
    if isinstance(node, ast.Name):
        return seen.frame.f_locals.get(node.id, seen.frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        return attribute(resolve(node.value, seen), node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return _entry(resolve(node.value, seen), node.slice.value)
    return None


def _entry(value: Any, key: Any) -> Any:
    if type(value) is dict:
        return value.get(key)
    if is_one_of(value, (list, tuple)) and type(key) is int and -len(value) <= key < len(value):
        return value[key]
    return None
