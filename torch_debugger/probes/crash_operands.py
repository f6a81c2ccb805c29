"""What an expression of the user's line stood for, worked out again from the live frame.

Only what cannot change anything is evaluated: names, attributes kept in dictionaries, entries, and
plain methods of tensors on the CPU. Nothing of the user's is called.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any, TypeGuard

import torch

from torch_debugger.anatomy.kinds import is_one_of
from torch_debugger.probes.crash_frames import attribute
from torch_debugger.stats.unseen import no_grad

_METHODS = frozenset({
    "long", "int", "float", "view", "view_as", "reshape", "unsqueeze", "squeeze", "flatten", "t", "transpose",
    "permute", "expand", "expand_as", "detach", "contiguous", "clone", "argmax", "size", "numel", "dim", "item",
    "max", "min", "all", "any", "isnan", "isinf", "isfinite", "ndimension",
})  # fmt: skip
_FACTS = ("shape", "T", "data", "mT", "dtype", "device", "ndim", "requires_grad", "is_leaf")
_FUNCTIONS = frozenset(
    {"arange", "isnan", "isinf", "isfinite", "any", "all", "max", "min", "allclose", "equal"}
)
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip
_PLAIN = (int, float, bool, str, type(None), torch.dtype, torch.device, torch.Size)
_LARGEST = 10_000_000  # elements


class UnknownValueError(Exception):
    """An expression that is not worked out again."""


def value_of(node: ast.expr, frame: FrameType) -> Any:
    """The value of an expression in a frame; raises UnknownValueError for whatever might do more than look."""
    try:
        with no_grad(), torch.utils._python_dispatch._disable_current_modes():
            return _value(node, frame)
    except Exception as error:
        raise UnknownValueError from error


def is_plain_tensor(value: Any) -> TypeGuard[torch.Tensor]:
    """A tensor in memory, of no class of the user's, and small enough to be read through."""
    plain = is_one_of(value, (torch.Tensor, torch.nn.Parameter)) and value.layout is torch.strided
    return bool(plain and value.device.type == "cpu" and value.numel() <= _LARGEST)


def _value(node: ast.expr, frame: FrameType) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return _known(frame.f_locals.get(node.id, frame.f_globals.get(node.id, UnknownValueError)))
    if isinstance(node, ast.Tuple | ast.List):
        return [_value(item, frame) for item in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_operand(node.operand, frame)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _combined(_OPERATORS[type(node.op)], _operand(node.left, frame), _operand(node.right, frame))
    if isinstance(node, ast.Attribute):
        return _attribute(node, frame)
    if isinstance(node, ast.Subscript):
        return _entry(node, frame)
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else _operand(part, frame) for part in parts))
    return _called(node, frame)


def _known(value: Any) -> Any:
    if value is UnknownValueError:
        raise UnknownValueError
    return value


def _operand(node: ast.expr, frame: FrameType) -> Any:
    value = _value(node, frame)
    if is_one_of(value, _PLAIN) or is_plain_tensor(value):
        return value
    raise UnknownValueError


def _combined(combine: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    tensors = [value for value in (left, right) if is_plain_tensor(value)]
    if len({value.shape for value in tensors if value.dim()}) > 1:
        raise UnknownValueError  # broadcasting may need any amount of memory
    return combine(left, right)


def _attribute(node: ast.Attribute, frame: FrameType) -> Any:
    owner = _value(node.value, frame)
    if is_plain_tensor(owner) and node.attr in _FACTS:
        return getattr(owner, node.attr)
    if type(owner) is ModuleType:
        return _known(vars(owner).get(node.attr, UnknownValueError))
    if type(owner) is torch.device and node.attr in ("type", "index"):
        return getattr(owner, node.attr)
    return attribute(owner, node.attr)


def _entry(node: ast.Subscript, frame: FrameType) -> Any:
    owner = _value(node.value, frame)
    key = _value(node.slice, frame)
    if is_plain_tensor(owner):
        return owner[tuple(key) if isinstance(node.slice, ast.Tuple) else key]
    if is_one_of(owner, (list, tuple, dict, torch.Size)) and is_one_of(key, (int, str, slice)):
        return owner[key]
    raise UnknownValueError


def _called(node: ast.expr, frame: FrameType) -> Any:
    if not isinstance(node, ast.Call):
        raise UnknownValueError
    if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
        return _length(_value(node.args[0], frame))
    args = [_operand(item, frame) for item in node.args]
    named = {word.arg or "": _operand(word.value, frame) for word in node.keywords}
    module, _, function = ast.unparse(node.func).rpartition(".")
    if module == "torch" and function in _FUNCTIONS and frame.f_globals.get("torch") is torch:
        return getattr(torch, function)(*args, **named)
    owner = _value(node.func.value, frame) if isinstance(node.func, ast.Attribute) else None
    if isinstance(node.func, ast.Attribute) and is_plain_tensor(owner) and _only_looks(node.func.attr, args):
        return getattr(owner, node.func.attr)(*args, **named)
    raise UnknownValueError


def _only_looks(method: str, args: list[Any]) -> bool:
    """`to` only with a dtype: another device may be dead."""
    return method in _METHODS or (method == "to" and len(args) == 1 and type(args[0]) is torch.dtype)


def _length(value: Any) -> int:
    if is_one_of(value, (list, tuple, dict, str, torch.Size)) or is_plain_tensor(value):
        return len(value)
    raise UnknownValueError
