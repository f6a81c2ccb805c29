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


def conversion_in(code: str | None, attributes: frozenset[str]) -> Conversion | None:
    """`torch.tensor(self.rows[i])` -> the call and rows; None unless one of these attributes is converted."""
    try:
        tree = ast.parse(code or "")
    except SyntaxError:  # a part of a longer statement
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last_name(node.func) in _TENSOR:
            found = [name for argument in node.args[:1] for name in _entries_of(argument) if name in attributes]
            if found:
                return Conversion(ast.unparse(node), found[0])
    return None


def _entries_of(argument: ast.expr) -> list[str]:
    """The attributes of `self` that the argument is an entry of: as it is, as an array, or gathered in a "
    "list."""
    match argument:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id="self"), attr=name)):
            return [name]
        case ast.Subscript(value=ast.Subscript() as inner):
            return _entries_of(inner)
        case ast.Call(args=[first, *_]) if _last_name(argument.func) in _ARRAY:
            return _entries_of(first)
        case ast.ListComp(elt=element):
            return _entries_of(element) + [
                name for each in argument.generators for name in _entries_of(each.iter)
            ]
        case ast.Call(func=ast.Attribute(value=value, attr="astype" | "copy" | "tolist")):
            return _entries_of(value)
    return []


def _last_name(function: ast.expr) -> str:
    return ast.unparse(function).rpartition(".")[2]
