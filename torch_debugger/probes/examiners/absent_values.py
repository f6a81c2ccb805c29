"""A None that was used as a tensor: traced to the expression it came from, and to why that is None."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.kinds import is_a, is_one_of, own_attributes
from torch_debugger.anatomy.sources import class_source, place_at
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.crash_source import failing_expression, statement_at
from torch_debugger.probes.examiners.absent_gradients import of_gradient
from torch_debugger.probes.examiners.asserted_gradients import examine_asserted_gradients
from torch_debugger.probes.examiners.reading import UNKNOWN, value_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.value_makers import maker_of
from torch_debugger.records import Place
from torch_debugger.records.evidence.absent_values import AbsentValue

_LOOKED_AT = (ast.Name, ast.Attribute, ast.Subscript)
_HOOKS = ("torch/utils/hooks.py", "torch/nn/modules/module.py", "torch/autograd/graph.py")
_TENSORS = ("'Tensor'", "'Parameter'")  # as the interpreter names the other operand
# Methods that change their object, or the graph, and return None.
_RETURN_NOTHING = frozenset({
    "backward", "step", "zero_grad", "sort", "append", "extend", "reverse", "update", "shuffle",
    "insert", "clear", "remove", "add_scalar", "add_histogram",
})  # fmt: skip


def examine_absent_value(scene: Scene) -> AbsentValue | None:
    """The message selects the crash; an expression of the user's line that is None makes the evidence."""
    if isinstance(scene.error, AssertionError):
        return examine_asserted_gradients(scene)
    if not isinstance(scene.error, (AttributeError, TypeError, NotImplementedError, RuntimeError)):
        return None
    if "NoneType" not in str(scene.error):
        return None
    users = [seen for seen in reversed(scene.frames) if seen.user][:4]
    for depth, seen in enumerate(users):
        for node in _absent_in(seen, innermost=depth == 0):
            if isinstance(node, ast.Name) and _is_parameter(seen, node.id):
                hook = _of_hook(scene, seen, node)
                if hook is not None:
                    return hook
                continue  # handed in: the caller's line has it
            found = _explained(scene, seen, node)
            if found is not None:
                return found
    return _of_argument(users) if any(kind in str(scene.error) for kind in _TENSORS) else None


def _of_argument(users: list[Seen]) -> AbsentValue | None:
    """An argument that the function needs in arithmetic, and its caller has given as None or left out."""
    if not users:
        return None
    seen = users[0]
    text = failing_expression(seen.frame.f_code, seen.instruction)
    operation = ast.parse(text, mode="eval").body if text else None
    if not isinstance(operation, ast.BinOp):
        return None
    sides = [
        side
        for side in (operation.left, operation.right)
        if isinstance(side, ast.Name) and is_absent(seen, side)
    ]
    if len(sides) != 1 or not _is_parameter(seen, sides[0].id):
        return None
    name, code = sides[0].id, seen.frame.f_code
    rest = operation.left if sides[0] is operation.right else operation.right
    caller = next((outer for outer in users[1:] if outer.frame is not seen.frame), None)
    place = place_at(seen.file, seen.line)
    return AbsentValue(
        name,
        place,
        "argument",
        tensor=ast.unparse(rest),
        reason="backward" if is_context(seen.frame.f_locals.get(code.co_varnames[0])) else "",
        cause=place_at(caller.file, caller.line) if caller is not None else Place(),
        cause_text=text,
    )


def is_context(value: object) -> bool:
    """The ctx of an autograd Function."""
    return is_a(value, torch.autograd.function.FunctionCtx)


def _absent_in(seen: Seen, *, innermost: bool) -> Iterator[ast.expr]:
    """The parts of the line that stand for None, those nearest to the failing expression first."""
    text = failing_expression(seen.frame.f_code, seen.instruction)
    tree = _parsed(text or statement_at(seen.file, seen.line)[1])
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, _LOOKED_AT) and isinstance(node.ctx, ast.Load) and is_absent(seen, node):
            yield node


def _parsed(text: str) -> ast.AST | None:
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def is_absent(seen: Seen, node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "grad":
        return owner_without_gradient(seen, node.value) is not None
    return value_of(seen, node) is None


def owner_without_gradient(seen: Seen, node: ast.expr) -> torch.Tensor | None:
    """The tensor that the expression stands for, if it has no gradient; of a comprehension, the first such."""
    owner = value_of(seen, node)
    met: Iterable[Any] = [owner] if owner is not UNKNOWN else _gone_through(seen, node)
    return next((each for each in met if is_tensor(each) and gradient_of(each) is None), None)


def _gone_through(seen: Seen, node: ast.expr) -> Iterator[Any]:
    """What a variable of a comprehension stood for: from Python 3.12 on it is gone once an exception is out."""
    statement = _parsed(statement_at(seen.file, seen.line)[1]) if isinstance(node, ast.Name) else None
    for part in ast.walk(statement) if statement is not None else ():
        match part:
            case ast.comprehension(
                target=ast.Name(id=name) | ast.Tuple(elts=[_, ast.Name(id=name)]),
                iter=ast.Call(func=ast.Attribute(value=of, attr="parameters" | "named_parameters"), args=[]),
            ) if name == ast.unparse(node):
                model = value_of(seen, of)
                yield from model.parameters() if is_a(model, nn.Module) else ()


def gradient_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """Without the warning that torch gives for one that is no leaf."""
    if not tensor.is_leaf and not tensor.retains_grad:
        return None
    return tensor.grad


def _is_parameter(seen: Seen, name: str) -> bool:
    code = seen.frame.f_code
    return name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _explained(scene: Scene, seen: Seen, node: ast.expr) -> AbsentValue | None:
    place = place_at(seen.file, seen.line)
    text = ast.unparse(node)
    if isinstance(node, ast.Attribute) and node.attr == "grad":
        tensor = owner_without_gradient(seen, node.value)
        found = AbsentValue(text, place, "grad", tensor=ast.unparse(node.value))
        return of_gradient(scene, seen, found, tensor) if tensor is not None else None
    if isinstance(node, ast.Subscript):
        return _of_hook(scene, seen, node.value) if isinstance(node.value, ast.Name) else None
    if isinstance(node, ast.Attribute):
        return _of_attribute(seen, node, AbsentValue(text, place, "attribute"))
    made = maker_of(scene, seen, node)
    called = made.call.func.attr if made.call is not None and isinstance(made.call.func, ast.Attribute) else ""
    if made.call is not None and called in _RETURN_NOTHING:
        return AbsentValue(text, place, "call", cause=made.place, cause_text=called)
    if isinstance(made.call, ast.Call) or made.kind != "expression" or not made.text:
        return None
    bound = ast.parse(made.text, mode="eval").body  # grad = param.grad
    return (
        _explained(scene, seen, bound) if isinstance(bound, ast.Attribute) and is_absent(seen, bound) else None
    )


def _of_hook(scene: Scene, seen: Seen, node: ast.expr) -> AbsentValue | None:
    """grad_input[0] in a backward hook of a module whose input needs no gradient."""
    if not isinstance(node, ast.Name) or not _is_parameter(seen, node.id):
        return None
    index = next((at for at, frame in enumerate(scene.frames) if frame is seen), 0)
    caller = scene.frames[index - 1] if index else None
    if caller is None or not caller.file.endswith(_HOOKS) or not is_one_of(value_of(seen, node), (tuple,)):
        return None
    text = next((ast.unparse(each) for each in _absent_in(seen, innermost=True)), f"{node.id}[0]")
    return AbsentValue(text, place_at(seen.file, seen.line), "hook", tensor=node.id)


def _of_attribute(seen: Seen, node: ast.Attribute, found: AbsentValue) -> AbsentValue | None:
    """self.gradients: None since __init__, and a method that would fill it."""
    owner = value_of(seen, node.value)
    if owner is UNKNOWN or is_a(owner, nn.Module) or node.attr not in own_attributes(owner):
        return None
    source = class_source(type(owner))
    if source is None:
        return None
    file, tree = source
    lines: list[tuple[int, bool]] = []
    for part in ast.walk(tree):
        targets = part.targets if isinstance(part, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and target.attr == node.attr and isinstance(part, ast.Assign):
                empty = isinstance(part.value, ast.Constant) and part.value.value is None
                lines.append((part.lineno, empty))
    empties = [line for line, empty in lines if empty]
    setters = tuple(place_at(file, line) for line, empty in lines if not empty)
    if not empties:
        return None
    kept = found.expression, found.place, found.form
    return AbsentValue(*kept, cause=place_at(file, empties[0]), setters=setters[:3])
