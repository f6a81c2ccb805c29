"""A None that was used as a tensor: traced to the expression it came from, and to why that is None."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import nn

from torch_debugger.crashes.expressions import UNKNOWN, condition_at, parsed, value_of
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, is_tensor
from torch_debugger.crashes.functions import Scope, maker_of, scopes
from torch_debugger.records import Place
from torch_debugger.records.crash import AbsentValue
from torch_debugger.source.files import class_source, place_at
from torch_debugger.source.objects import is_a, is_one_of, own_attributes
from torch_debugger.source.parameters import freezes
from torch_debugger.source.syntax import calls_in

_LOOKED_AT = (ast.Name, ast.Attribute, ast.Subscript)
_HOOKS = ("torch/utils/hooks.py", "torch/nn/modules/module.py", "torch/autograd/graph.py")
_TENSORS = ("'Tensor'", "'Parameter'")  # as the interpreter names the other operand
# Methods that change their object, or the graph, and return None.
_RETURN_NOTHING = frozenset({
    "backward", "step", "zero_grad", "sort", "append", "extend", "reverse", "update", "shuffle",
    "insert", "clear", "remove", "add_scalar", "add_histogram",
})  # fmt: skip


def examine_absent_value(crash: LiveCrash) -> AbsentValue | None:
    """The message selects the crash; an expression of the user's line that is None makes the evidence."""
    if isinstance(crash.error, AssertionError):
        return examine_asserted_gradients(crash)
    if not isinstance(crash.error, (AttributeError, TypeError, NotImplementedError, RuntimeError)):
        return None
    if "NoneType" not in str(crash.error):
        return None
    users = crash.user_frames[:4]
    for depth, seen in enumerate(users):
        for node in _absent_in(seen, innermost=depth == 0):
            if isinstance(node, ast.Name) and _is_parameter(seen, node.id):
                hook = _of_hook(crash, seen, node)
                if hook is not None:
                    return hook
                continue  # handed in: the caller's line has it
            found = _explained(crash, seen, node)
            if found is not None:
                return found
    return _of_argument(users) if any(kind in str(crash.error) for kind in _TENSORS) else None


def _of_argument(users: list[LiveFrame]) -> AbsentValue | None:
    """An argument that the function needs in arithmetic, and its caller has given as None or left out."""
    if not users:
        return None
    seen = users[0]
    text = seen.failing
    operation = ast.parse(text, mode="eval").body if text else None
    if not isinstance(operation, ast.BinOp):
        return None
    sides = [side for side in (operation.left, operation.right) if isinstance(side, ast.Name) and is_absent(seen, side)]
    if len(sides) != 1 or not _is_parameter(seen, sides[0].id):
        return None
    name, code = sides[0].id, seen.frame.f_code
    rest = operation.left if sides[0] is operation.right else operation.right
    caller = next((outer for outer in users[1:] if outer.frame is not seen.frame), None)
    place = seen.place
    return AbsentValue(
        name,
        place,
        "argument",
        tensor=ast.unparse(rest),
        # of an autograd Function: its ctx
        reason="backward" if is_a(seen.locals.get(code.co_varnames[0]), torch.autograd.function.FunctionCtx) else "",
        cause=caller.place if caller is not None else Place(),
        cause_text=text,
    )


def _absent_in(seen: LiveFrame, *, innermost: bool) -> Iterator[ast.expr]:
    """The parts of the line that stand for None, those nearest to the failing expression first."""
    text = seen.failing
    tree = parsed(text or seen.code)
    for node in ast.walk(tree):
        if isinstance(node, _LOOKED_AT) and isinstance(node.ctx, ast.Load) and is_absent(seen, node):
            yield node


def is_absent(seen: LiveFrame, node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "grad":
        return owner_without_gradient(seen, node.value) is not None
    return value_of(seen, node) is None


def owner_without_gradient(seen: LiveFrame, node: ast.expr) -> torch.Tensor | None:
    """The tensor that the expression stands for, if it has no gradient; of a comprehension, the first such."""
    owner = value_of(seen, node)
    met: Iterable[Any] = [owner] if owner is not UNKNOWN else _gone_through(seen, node)
    tensors: Iterator[torch.Tensor] = filter(is_tensor, met)
    # torch warns when a tensor that is no leaf is asked for its gradient
    return next((each for each in tensors if not (each.is_leaf or each.retains_grad) or each.grad is None), None)


def _gone_through(seen: LiveFrame, node: ast.expr) -> Iterator[Any]:
    """What a variable of a comprehension stood for: from Python 3.12 on it is gone once an exception is out."""
    for part in ast.walk(parsed(seen.code)) if isinstance(node, ast.Name) else ():
        match part:
            case ast.comprehension(
                target=ast.Name(id=name) | ast.Tuple(elts=[_, ast.Name(id=name)]),
                iter=ast.Call(func=ast.Attribute(value=of, attr="parameters" | "named_parameters"), args=[]),
            ) if name == ast.unparse(node):
                model = value_of(seen, of)
                yield from model.parameters() if is_a(model, nn.Module) else ()


def _is_parameter(seen: LiveFrame, name: str) -> bool:
    code = seen.frame.f_code
    return name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _explained(crash: LiveCrash, seen: LiveFrame, node: ast.expr) -> AbsentValue | None:
    place = seen.place
    text = ast.unparse(node)
    if isinstance(node, ast.Attribute) and node.attr == "grad":
        tensor = owner_without_gradient(seen, node.value)
        found = AbsentValue(text, place, "grad", tensor=ast.unparse(node.value))
        return of_gradient(crash, seen, found, tensor) if tensor is not None else None
    if isinstance(node, ast.Subscript):
        return _of_hook(crash, seen, node.value) if isinstance(node.value, ast.Name) else None
    if isinstance(node, ast.Attribute):
        return _of_attribute(seen, node, AbsentValue(text, place, "attribute"))
    made = maker_of(crash, seen, node)
    called = made.call.func.attr if made.call is not None and isinstance(made.call.func, ast.Attribute) else ""
    if made.call is not None and called in _RETURN_NOTHING:
        return AbsentValue(text, place, "call", cause=made.place, cause_text=called)
    if isinstance(made.call, ast.Call) or made.kind != "expression" or not made.text:
        return None
    bound = ast.parse(made.text, mode="eval").body  # grad = param.grad
    return _explained(crash, seen, bound) if isinstance(bound, ast.Attribute) and is_absent(seen, bound) else None


def _of_hook(crash: LiveCrash, seen: LiveFrame, node: ast.expr) -> AbsentValue | None:
    """grad_input[0] in a backward hook of a module whose input needs no gradient."""
    if not isinstance(node, ast.Name) or not _is_parameter(seen, node.id):
        return None
    index = next((at for at, frame in enumerate(crash.frames) if frame is seen), 0)
    caller = crash.frames[index - 1] if index else None
    if caller is None or not caller.file.endswith(_HOOKS) or not is_one_of(value_of(seen, node), (tuple,)):
        return None
    text = next((ast.unparse(each) for each in _absent_in(seen, innermost=True)), f"{node.id}[0]")
    return AbsentValue(text, seen.place, "hook", tensor=node.id)


def _of_attribute(seen: LiveFrame, node: ast.Attribute, found: AbsentValue) -> AbsentValue | None:
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


# Why a tensor's `.grad` is None: by the tensor, its model's other gradients, and the lines around.
_NAMES_SHOWN = 6


def of_gradient(crash: LiveCrash, seen: LiveFrame, found: AbsentValue, tensor: torch.Tensor) -> AbsentValue:
    if tensor.grad_fn is not None:
        return dataclasses.replace(found, reason="not-a-leaf")
    home = _home_of(crash, tensor)
    if home is None:
        scope = Scope(seen)
        cleared, ran = _before(scope)
        reason = "cleared" if cleared.file else "unused" if ran else "before"
        return dataclasses.replace(found, reason=reason if tensor.requires_grad else "not-recorded", cause=cleared)
    root, model, path = home
    named = list(model.named_parameters())
    without = [name for name, each in named if each.requires_grad and each.grad is None]
    fact = dataclasses.replace(
        found,
        parameter=f"{root}.{path}",
        others=tuple(f"{root}.{name}" for name in without if name != path)[:_NAMES_SHOWN],
        count=sum(each.requires_grad for _, each in named),
    )
    if not tensor.requires_grad:
        lines = {  # those that say requires_grad = False
            scope.place(node)
            for scope in scopes(crash)
            for node in scope.statements()
            if any(map(freezes, [node, *(calls_in(node) if isinstance(node, ast.Expr) else [])]))
        }
        return dataclasses.replace(fact, reason="frozen", cause=lines.pop() if len(lines) == 1 else Place())
    if len(without) < fact.count:
        return dataclasses.replace(fact, reason="unused", mentioned=_is_mentioned(model, path))
    cleared, _ = _before(Scope(seen))
    inside = next((at for at, frame in enumerate(crash.frames) if frame is seen), 0)
    outside = [frame for frame in crash.frames[:inside] if frame.user]
    if not cleared.file and outside:
        cleared, _ = _before(Scope(outside[-1]))
    return dataclasses.replace(fact, reason="cleared" if cleared.file else "before", cause=cleared)


def _home_of(crash: LiveCrash, tensor: torch.Tensor) -> tuple[str, nn.Module, str] | None:
    """The user's name of a model, the model, and the path of the parameter in it; the largest model wins."""
    known = {id(model): (name, model) for name, model in crash.running.models.items()}
    for name, model in (pair for seen in crash.user_frames for pair in seen.names.items()):
        if is_a(model, nn.Module):
            known.setdefault(id(model), (name, model))
    homes = [
        (name, model, path)
        for name, model in known.values()
        for path, parameter in model.named_parameters()
        if parameter is tensor
    ]
    return max(homes, key=lambda home: len(list(home[1].parameters())), default=None)


def _before(scope: Scope) -> tuple[Place, bool]:
    """The last `zero_grad` above the line with no backward in between; and whether a backward stands above."""
    cleared, ran = Place(), False
    loops = scope.loops()
    first = loops[0].lineno if loops else 0
    for node in scope.statements():
        if not first <= node.lineno <= scope.line or hasattr(node, "body"):
            continue
        for call in calls_in(node):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if name == "backward":
                cleared, ran = Place(), True
            elif name == "zero_grad" and ran:
                cleared = scope.place(node)
    return cleared, ran


def _is_mentioned(model: nn.Module, path: str) -> bool:
    """Whether the class that owns the first part of the path names it outside of __init__."""
    first = path.partition(".")[0]
    source = class_source(type(model))
    if source is None:
        return True
    methods = [node for node in ast.walk(source[1]) if isinstance(node, ast.FunctionDef) and node.name != "__init__"]
    nodes = (node for method in methods for node in ast.walk(method))
    return any(isinstance(node, ast.Attribute) and node.attr == first for node in nodes)


# `assert all(p.grad is not None for p in model.parameters())`: the first parameter that has none.
def examine_asserted_gradients(crash: LiveCrash) -> AbsentValue | None:
    seen = crash.innermost
    condition = condition_at(seen) if seen is not None and seen.user else None
    if seen is None or condition is None or not condition.asserted:
        return None
    tested = _gradient_test(condition.test)
    model = value_of(seen, tested[1]) if tested is not None else None
    if tested is None or not is_a(model, nn.Module):
        return None
    parameter = next((each for each in model.parameters() if each.grad is None), None)
    if parameter is None:
        return None
    name = tested[0]
    found = AbsentValue(f"{name}.grad", seen.place, "grad", tensor=name)
    return of_gradient(crash, seen, found, parameter)


def _gradient_test(test: ast.expr) -> tuple[str, ast.expr] | None:
    """The loop's name for a parameter, and the expression of the model, of a test of this very form."""
    if not isinstance(test, ast.Call) or ast.unparse(test.func) != "all" or len(test.args) != 1:
        return None
    loop = test.args[0]
    if not isinstance(loop, (ast.GeneratorExp, ast.ListComp)) or len(loop.generators) != 1:
        return None
    turn = loop.generators[0]
    source = turn.iter.func if isinstance(turn.iter, ast.Call) and not turn.iter.args else None
    if not isinstance(source, ast.Attribute) or turn.ifs:
        return None
    target: ast.expr = turn.target
    if source.attr == "named_parameters" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    elif source.attr != "parameters":
        return None
    if not isinstance(target, ast.Name) or ast.unparse(loop.elt) != f"{target.id}.grad is not None":
        return None
    return target.id, source.value
