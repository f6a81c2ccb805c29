"""A failed assert, or a raise below an `if`: its condition worked out again, part by part."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch

from torch_debugger.anatomy.kinds import is_one_of
from torch_debugger.probes.crash_conditions import condition_at
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.crash_operands import UnknownValueError, is_plain_tensor, value_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.value_makers import maker_of
from torch_debugger.records import Place
from torch_debugger.records.evidence.assertions import AssertionEvidence
from torch_debugger.stats.operands import measure_operand

_COMPARED: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne), ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge),
    ast.Is: ("is", operator.is_), ast.IsNot: ("is not", operator.is_not),
    ast.In: ("in", lambda item, held: item in held), ast.NotIn: ("not in", lambda item, held: item not in held),
}  # fmt: skip
_LONGEST = 60


def examine_assertion(scene: Scene) -> AssertionEvidence | None:
    """None where nothing of the condition is known: half of one would be a guess."""
    seen = scene.innermost
    if seen is None or not seen.user or not isinstance(scene.error, Exception):
        return None
    condition = condition_at(seen)
    if condition is None or (condition.asserted and not isinstance(scene.error, AssertionError)):
        return None
    parts = _parts(condition.test, condition.asserted)
    return next(filter(None, (_part(scene, seen, part, condition.asserted) for part in parts)), None)


def _parts(test: ast.expr, asserted: bool) -> Iterator[ast.expr]:
    """An assert of several holds all, a raise of several takes any: each may be the one."""
    joined = ast.And if asserted else ast.Or
    if isinstance(test, ast.BoolOp) and isinstance(test.op, joined):
        for value in test.values:
            yield from _parts(value, asserted)
    else:
        yield test


def _part(scene: Scene, seen: Seen, test: ast.expr, asserted: bool) -> AssertionEvidence | None:
    """The part, where it is known to be false (of a raise: true)."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(scene, seen, test, asserted)
    if _known(test, seen) is not (not asserted):
        return None
    return _about(scene, seen, test, AssertionEvidence(ast.unparse(test), asserted))


def _known(test: ast.expr, seen: Seen) -> bool | None:
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    try:
        value = value_of(test.operand if isinstance(test, ast.UnaryOp) and negated else test, seen.frame)
    except UnknownValueError:
        return None
    if is_tensor(value):
        if not is_plain_tensor(value) or value.numel() != 1:
            return None
        value = bool(value)
    return bool(value) != negated if is_one_of(value, (bool, int, float, list, tuple, dict)) else None


def _compared(scene: Scene, seen: Seen, test: ast.Compare, asserted: bool) -> AssertionEvidence | None:
    sign, compare = _COMPARED[type(test.ops[0])]
    right_node = test.comparators[0]
    try:
        left, right = value_of(test.left, seen.frame), _like_a_shape(value_of(right_node, seen.frame))
        left = _like_a_shape(left)
        holds = compare(left, right)
        holds = bool(holds) if not is_tensor(holds) or holds.numel() == 1 else None
    except (UnknownValueError, TypeError, ValueError, RuntimeError):
        return None
    if holds is None or holds is asserted:
        return None
    swapped = _is_written(test.left) and not _is_written(right_node)  # assert 4 == x.dim()
    about = right_node if swapped else test.left
    sizes, wanted = (right, left) if swapped else (left, right)
    both = is_one_of(sizes, (tuple,)) and is_one_of(wanted, (tuple,)) and _all_numbers((*sizes, *wanted))
    found = AssertionEvidence(
        ast.unparse(test),
        asserted,
        ast.unparse(test.left),
        _text(left),
        sign,
        ast.unparse(right_node),
        _text(right),
        tuple(sizes) if both else (),
        tuple(wanted) if both else (),
        _first_dimension(about, seen) if both else 0,
    )
    return _about(scene, seen, about, found)


def _about(scene: Scene, seen: Seen, node: ast.expr, found: AssertionEvidence) -> AssertionEvidence:
    """With the tensor that the expression is of, its numbers, and the line that made it."""
    for part in ast.walk(node):
        try:
            value = value_of(part, seen.frame) if isinstance(part, (ast.Name, ast.Attribute)) else None
        except UnknownValueError:
            continue
        if value is None or not is_tensor(value):
            continue
        name = part.value if isinstance(part, ast.Attribute) and part.attr in ("shape", "data") else part
        numbers = measure_operand(value, ast.unparse(name)) if is_plain_tensor(value) else None
        made = maker_of(scene, seen, name).place if isinstance(name, ast.Name) else Place()
        kept = (found.test, found.asserted, found.left, found.left_value, found.operation, found.right,
                found.right_value, found.sizes, found.wanted, found.first)  # fmt: skip
        return AssertionEvidence(*kept, ast.unparse(name), tuple(value.shape), numbers, made)
    return found


def _is_written(node: ast.expr) -> bool:
    """A literal: what was asked for, and not what came."""
    return all(
        isinstance(part, (ast.Constant, ast.Tuple, ast.List, ast.Load, ast.UnaryOp, ast.USub))
        for part in ast.walk(node)
    )


def _like_a_shape(value: Any) -> Any:
    """x.shape == (4, 10) and x.shape == [4, 10] are compared as they stand; lists here stand for literals."""
    return tuple(value) if is_one_of(value, (list, torch.Size)) else value


def _all_numbers(sizes: tuple[Any, ...]) -> bool:
    return all(type(size) is int for size in sizes)


def _first_dimension(node: ast.expr, seen: Seen) -> int:
    """1 of x.shape[1:]"""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice) or node.slice.lower is None:
        return 0
    try:
        start, whole = value_of(node.slice.lower, seen.frame), value_of(node.value, seen.frame)
        return int(start) if start >= 0 else max(len(whole) + start, 0)
    except (UnknownValueError, TypeError):
        return 0


def _text(value: Any) -> str:
    if is_tensor(value):
        return (
            _text(value.item())
            if is_plain_tensor(value) and value.numel() == 1
            else f"a tensor of {list(value.shape)}"
        )
    if type(value) is float:
        return f"{value:.6g}"
    if is_one_of(value, (int, bool, str, type(None), torch.dtype, torch.device)):
        return str(value)[:_LONGEST]
    if is_one_of(value, (tuple,)) and len(value) <= 10 and _all_numbers(value):
        return str(list(value))
    return type(value).__name__
