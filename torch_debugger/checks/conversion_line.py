"""A line of a dataset that makes a tensor out of an entry of something it holds."""

from __future__ import annotations

import ast
from dataclasses import dataclass

_TENSOR = ("tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor", "LongTensor", "DoubleTensor")
_ARRAY = ("array", "asarray")


@dataclass(frozen=True)
class Conversion:
    call: str  # torch.tensor(self.rows[index], dtype=torch.float32)
    attribute: str  # rows
    of_entry: str  # torch.tensor(entry, dtype=torch.float32)


def conversion_in(code: str | None, attributes: frozenset[str]) -> Conversion | None:
    """`torch.tensor(self.rows[i])` -> the call and rows; None unless one of these attributes is converted."""
    try:
        tree = ast.parse(code or "")
    except SyntaxError:  # a part of a longer statement
        return None
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _last_name(node.func) not in _TENSOR:
            continue
        for entry in _entries_in(node.args[0]) if node.args else ():
            if (name := _attribute(entry)) in attributes:
                call = ast.unparse(node)
                return Conversion(call, name, call.replace(ast.unparse(entry), "entry"))
    return None


def _attribute(entry: ast.Subscript) -> str:
    return entry.value.attr if isinstance(entry.value, ast.Attribute) else ""


def _entries_in(argument: ast.expr) -> list[ast.Subscript]:
    """Where the argument is an entry of an attribute of `self`: as it is, as an array, or in a list."""
    match argument:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id="self"))):
            return [argument]
        case ast.Call(args=[first, *_]) if _last_name(argument.func) in _ARRAY:
            return _entries_in(first)
        case ast.List(elts=[element]) | ast.Tuple(elts=[element]):
            return _entries_in(element)
        case ast.Call(func=ast.Attribute(value=value, attr="astype" | "copy" | "tolist")):
            return _entries_in(value)
    return []


def _last_name(function: ast.expr) -> str:
    return ast.unparse(function).rpartition(".")[2]
