"""Who wrote into a tensor that backward still needed: a replay, the graph and version counters tell."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.crashes.autograd_backward_twice import find_carried
from torch_debugger.crashes.autograd_graph import (
    Conflict,
    Write,
    backward_roots,
    graph_of,
    models_of,
    named_modules,
    named_parameters,
    op_name,
    optimizers_of,
    plain_op,
    replay_writes,
    scopes,
)
from torch_debugger.crashes.frames import LiveCrash, is_tensor
from torch_debugger.crashes.functions import Scope, statement_place
from torch_debugger.records import Place
from torch_debugger.records.crash_autograd import InPlaceWrite, Overwritten
from torch_debugger.source.constructors import constructor_places
from torch_debugger.source.files import covers, is_user_file, nodes_of, tree_of
from torch_debugger.source.objects import is_a
from torch_debugger.source.syntax import called_name, calls_in

_VICTIM = re.compile(
    r"\[torch\.(?:\w+\.)?\w+ \[([\d, ]*)\]\](?:, which is output \d+ of ([\w:]+),)? is at version (\d+); "
    r"expected version (\d+) instead"
)
_CALLS = 4


def examine_overwritten(scene: LiveCrash, message: str) -> Overwritten | None:
    """The victim is told by torch's message; who wrote must be shown by something else."""
    told = _VICTIM.search(message)
    if told is None:
        return None
    shape = tuple(int(size) for size in re.findall(r"\d+", told[1]))
    victim = Overwritten(shape, plain_op(told[2] or ""), int(told[3]), int(told[4]), "", ())
    return _by_replay(scene, victim) or find_steps(scene, victim) or _by_source(scene, victim)


def _by_replay(scene: LiveCrash, victim: Overwritten) -> Overwritten | None:
    for model, args, kwargs in _calls(scene):
        fitting = [conflict for conflict in replay_writes(model, args, kwargs) if _fits(conflict, victim)]
        if fitting:
            paths = {id(module): path for path, module in named_modules(scene)}
            saved = fitting[0].saved
            return dataclasses.replace(
                victim,
                by="replay",
                writes=tuple(_told(write, scene, paths) for write in fitting[0].writes),
                saved=statement_place(saved.file, saved.line, paths.get(id(saved.layer or saved.module))),
            )
    return None


def _fits(conflict: Conflict, victim: Overwritten) -> bool:
    return conflict.shape == victim.shape and len(conflict.writes) == victim.version - victim.expected


def _told(write: Write, scene: LiveCrash, paths: dict[int, str]) -> InPlaceWrite:
    moment, layer = write.moment, write.moment.layer
    path = paths.get(id(layer or moment.module))
    place = statement_place(moment.file, moment.line, path)
    made = _constructor(scene, path, moment.file) if layer is not None and path else Place()
    return InPlaceWrite(place, write.operation, layer=type(layer).__name__ if layer else "", constructor=made)


def _constructor(scene: LiveCrash, path: str, file: str) -> Place:
    for name, model in models_of(scene).items():
        if path == name or path.startswith(f"{name}."):
            files = [file, *(seen.file for seen in scene.frames if seen.user)]
            return constructor_places(model, name, list(dict.fromkeys(files))).get(path, Place())
    return Place()


def _calls(scene: LiveCrash) -> Iterator[tuple[nn.Module, tuple[Any, ...], dict[str, Any]]]:
    """What the models were last called with; where nobody watched, what the user's lines still tell."""
    watched = [(scene.running.models[name], *call) for name, call in scene.running.calls.items()]
    yield from watched[:_CALLS]
    if watched:
        return
    for scope in scopes(scene):
        calls = [call for call in calls_in(scope.function) if call.lineno <= scope.line]
        for call in calls[::-1][:50]:
            module = scope.held(call.func)
            args = tuple(scope.value(item) for item in call.args)
            named = {word.arg: scope.value(word.value) for word in call.keywords if word.arg}
            if is_a(module, nn.Module) and args and not any(item is None for item in args):
                yield module, args, named


def _by_source(scene: LiveCrash, victim: Overwritten) -> Overwritten | None:
    """A statement of the functions under way whose write the graph or the variable's version shows."""
    edges = _edges(scene)
    for scope in scopes(scene):
        writes = [write for node in scope.statements() for write in writes_in(node)]
        ran = [write for write in writes if _ran_before(scope, write)]
        for by, found in (
            ("variable", [write for write in ran if _is_victim(_tensor(scope, write), victim)]),
            ("graph", [write for write in ran if (write.operation, victim.maker) in edges]),
        ):
            if found:
                told = tuple(_write_of(scope, write) for write in found[-(victim.version - victim.expected) :])
                return dataclasses.replace(victim, by=by, writes=told)
    return _in_ended_function(scene, victim, edges)


def _in_ended_function(scene: LiveCrash, victim: Overwritten, edges: set[tuple[str, str]]) -> Overwritten | None:
    """The only statement of the user's files that makes the write which the graph shows."""
    found: list[tuple[str, SourceWrite]] = []
    for file in dict.fromkeys(scope.file for scope in scopes(scene)):
        tree = tree_of(file)
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)] if tree is not None else []
        writes = [write for node in nodes for write in writes_in(node)]
        found += [(file, one) for one in writes if _is_shown(one.operation, victim.maker, edges)]
    if len(found) != 1:
        return None
    file, write = found[0]
    place = statement_place(file, write.node.lineno)
    told = InPlaceWrite(place, write.operation, ast.unparse(write.target))
    return dataclasses.replace(victim, by="source", writes=(told,))


def _is_shown(operation: str, maker: str, edges: set[tuple[str, str]]) -> bool:
    """The graph has this operation done to the victim; or the victim now is what the write made of it."""
    made = any(operation == one for one, _ in edges)
    return (operation, maker) in edges or (operation == maker and made)


def _ran_before(scope: Scope, write: SourceWrite) -> bool:
    """Above the failing line, or below it in a loop that holds both."""
    return write.node.lineno < scope.line or any(covers(loop, write.node.lineno) for loop in scope.loops())


def _tensor(scope: Scope, write: SourceWrite) -> Any:
    held = (scope.held(owner) for owner in owners_of(write.target))
    return next((value for value in held if is_tensor(value)), None)


def _is_victim(value: Any, victim: Overwritten) -> bool:
    """The very tensor, or a view of it: views share the version counter."""
    if not is_tensor(value) or value._version != victim.version:
        return False
    base = value._base if value._base is not None else value
    return victim.shape in (tuple(value.shape), tuple(base.shape), tuple(value.shape)[::-1])


def _edges(scene: LiveCrash) -> set[tuple[str, str]]:
    """(operation, what it was done to), for each edge of the loss's graph."""
    nodes = [node for root in backward_roots(scene) for node in graph_of(root)]
    return {
        (op_name(node) or node.name(), op_name(after))
        for node in nodes
        for after, _ in node.next_functions
        if after is not None
    }


def _write_of(scope: Scope, write: SourceWrite) -> InPlaceWrite:
    return InPlaceWrite(scope.place(write.node), write.operation, ast.unparse(write.target))


# Parameters that changed between forward and backward: by an optimizer's step, or by the user's own update.
_TRANSPOSED = ("", "T", "Transpose", "AsStrided", "Permute", "View", "ReshapeAlias", "Expand", "Unsqueeze")


def find_steps(scene: LiveCrash, victim: Overwritten) -> Overwritten | None:
    """The victim is a parameter at the very version that torch complains of, and a line changed it."""
    if victim.maker not in _TRANSPOSED:
        return None
    for name, parameter in _parameters(scene):
        if parameter._version == victim.version and _same_form(tuple(parameter.shape), victim.shape):
            found = _loaded(scene, parameter) or _called_between(scene) or _step(scene, parameter) or _update(scene)
            if found is not None:
                by, write = found
                return dataclasses.replace(
                    victim,
                    by=by,
                    writes=(write,),
                    parameter=name,
                    loss_made=loss_made(scene),
                    carried=find_carried(scene) if _in_last_round(scene, write.place) else None,
                )
    return None


def _same_form(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return shape == other or shape[::-1] == other or sorted(shape) == sorted(other)


def _parameters(scene: LiveCrash) -> Iterator[tuple[str, torch.Tensor]]:
    yield from named_parameters(scene)
    for scope in scopes(scene):
        held = list(scope.seen.frame.f_locals.items())
        yield from ((name, value) for name, value in held if type(value) is torch.Tensor and _is_weight(value))


def _is_weight(tensor: torch.Tensor) -> bool:
    return tensor.is_leaf and tensor.requires_grad


def _loaded(scene: LiveCrash, parameter: torch.Tensor) -> tuple[str, InPlaceWrite] | None:
    """model.load_state_dict(...) between the line that made the loss and the backward."""
    made = loss_made(scene).line or 0
    for scope in scopes(scene):
        for call in calls_in(scope.function):
            loads = isinstance(call.func, ast.Attribute) and call.func.attr == "load_state_dict"
            if loads and made < call.lineno < scope.line:
                model = scope.held(_owner(call)[0])
                held = model.parameters() if is_a(model, nn.Module) else ()
                if any(item is parameter for item in held):
                    return "step", InPlaceWrite(scope.place(call), "load_state_dict")
    return None


def _called_between(scene: LiveCrash) -> tuple[str, InPlaceWrite] | None:
    """A function of the user's that writes without gradients, called after the loss was made: constrain(net)"""
    made = loss_made(scene)
    for scope in scopes(scene)[:1] if made.line is not None else ():
        for call in calls_in(scope.function):
            if (made.line or 0) < call.lineno < scope.line and _writes_unseen(_callee(scope, call)):
                return "update", InPlaceWrite(scope.place(call), ast.unparse(call.func))
    return None


def _callee(scope: Scope, call: ast.Call) -> Any:
    """A function, or a method as its class has it; None where that is not known."""
    if not isinstance(call.func, ast.Attribute):
        return scope.held(call.func)
    owner = scope.held(call.func.value)
    return inspect.getattr_static(type(owner), call.func.attr, scope.held(call.func))


def _writes_unseen(function: Any) -> bool:
    """Weights can be written only where nobody records it: under no_grad, or by way of `.data`."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    tree = tree_of(code.co_filename) if code is not None and is_user_file(code.co_filename) else None
    if code is None or tree is None:
        return False
    body = next((node for node in nodes_of(tree) if _begins_at(node, code.co_firstlineno)), None)
    nodes = [node for node in ast.walk(body) if isinstance(node, ast.stmt)] if body is not None else []
    writes = [write for node in nodes for write in writes_in(node)]
    unrecorded = body is not None and "no_grad" in ast.unparse(body)
    return any(
        isinstance(write.node, ast.Expr) and (unrecorded or ".data" in ast.unparse(write.target))
        for write in writes
        if "grad" not in ast.unparse(write.target)
    )


def _begins_at(node: ast.AST, line: int) -> bool:
    """With its decorators, as code objects count it."""
    if not isinstance(node, ast.FunctionDef):
        return False
    return min([node.lineno, *(mark.lineno for mark in node.decorator_list)]) == line


def _step(scene: LiveCrash, parameter: torch.Tensor) -> tuple[str, InPlaceWrite] | None:
    for name, optimizer in optimizers_of(scene).items():
        held = (item for group in optimizer.param_groups for item in group["params"])
        if any(item is parameter for item in held):
            place = _step_call(scene, name, optimizer)
            if place is not None:
                return "step", InPlaceWrite(place, f"{name}.step", name)
    return None


def _step_call(scene: LiveCrash, name: str, optimizer: Any) -> Place | None:
    """The line that steps this optimizer, in the functions under way; else the one of its name in a file."""
    passed: set[tuple[str, int]] = set()  # they have not run between the forward and here
    for scope in scopes(scene):
        calls = [call for call in calls_in(scope.function) if _steps(call, scope, optimizer)]
        above = [call for call in calls if call.lineno < scope.line]
        rounds = [call for call in calls if any(covers(loop, call.lineno) for loop in scope.loops())]
        if above or rounds:
            return scope.place((above or rounds)[-1])
        passed |= {(scope.file, call.lineno) for call in calls}
    for file in dict.fromkeys(scope.file for scope in scopes(scene)):
        tree = tree_of(file)
        calls = [call for call in calls_in(tree) if _is_step_of(call, name)] if tree is not None else []
        if len(calls) == 1 and (file, calls[0].lineno) not in passed:
            return statement_place(file, calls[0].lineno)
    return None


def _steps(call: ast.Call, scope: Scope, optimizer: Any) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
        return False
    given = [call.func.value, *call.args]
    return any(scope.held(item) is optimizer for item in given)


def _is_step_of(call: ast.Call, name: str) -> bool:
    words = [ast.unparse(item).rpartition(".")[2] for item in (*call.args, *_owner(call))]
    return isinstance(call.func, ast.Attribute) and call.func.attr == "step" and name in words


def _owner(call: ast.Call) -> list[ast.expr]:
    return [call.func.value] if isinstance(call.func, ast.Attribute) else []


def _update(scene: LiveCrash) -> tuple[str, InPlaceWrite] | None:
    """The only statement under `no_grad` that writes: w -= lr * w.grad"""
    for scope in scopes(scene):
        blocks = [node for node in scope.statements() if isinstance(node, ast.With) and "no_grad" in _head(node)]
        inside = [node for node in scope.statements() if any(covers(block, node.lineno) for block in blocks)]
        writes = [write for node in inside for write in writes_in(node)]
        kept = [write for write in writes if "grad" not in ast.unparse(write.target)]
        if kept:
            return "update", InPlaceWrite(scope.place(kept[0].node), kept[0].operation, ast.unparse(kept[0].target))
    return None


def _head(block: ast.With) -> str:
    return " ".join(ast.unparse(item.context_expr) for item in block.items)


def loss_made(scene: LiveCrash) -> Place:
    """The statement that made what backward was called on."""
    roots = backward_roots(scene)
    for scope in scopes(scene):
        for name, value in list(scope.seen.frame.f_locals.items()):
            if roots and value is roots[0]:
                node = scope.assignment_before(name, scope.line)
                return scope.place(node) if node is not None else Place()
    return Place()


def _in_last_round(scene: LiveCrash, step: Place) -> bool:
    """Whether the step stands below the failing line in a loop around both: it ran one round earlier."""
    for scope in scopes(scene):
        if scope.file == step.file and step.line is not None and step.line > scope.line:
            return any(covers(loop, step.line) for loop in scope.loops())
    return False


# Statements of the user's that write into a tensor: `h += x`, `h[:, 0] = 0`, `h.mul_(2)`.
_OPERATORS = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "Div", ast.Pow: "Pow"}
_SLICES = "CopySlices"
_NO_WRITES = ("requires_grad_", "retain_grad_", "share_memory_")
_COMPOUND = (
    ast.For, ast.While, ast.With, ast.If, ast.Try, ast.AsyncFor, ast.AsyncWith,
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
)  # fmt: skip


@dataclass(frozen=True)
class SourceWrite:
    node: ast.stmt
    target: ast.expr  # what is written: h, h[:, 0], h.view(-1)
    operation: str  # as the graph calls it: Add, CopySlices, MaskedFill


def writes_in(node: ast.stmt) -> list[SourceWrite]:
    """The writes of one statement; those of a compound one stand in its body."""
    if isinstance(node, _COMPOUND):
        return []
    return [SourceWrite(node, target, operation) for target, operation in _writes(node)]


def _writes(node: ast.stmt) -> Iterator[tuple[ast.expr, str]]:
    if isinstance(node, ast.AugAssign):
        inside = isinstance(node.target, ast.Subscript)
        yield node.target, _SLICES if inside else _OPERATORS.get(type(node.op), "")
    if isinstance(node, ast.Assign):
        yield from ((target, _SLICES) for target in node.targets if isinstance(target, ast.Subscript))
    for call in calls_in(node):
        yield from _written_by(call)


def _written_by(call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    name = called_name(call)
    in_place = [word for word in call.keywords if word.arg == "inplace" and _is_true(word.value)]
    if in_place and call.args:
        yield call.args[0], _camel(name)
    elif name.endswith("_") and not name.endswith("__") and name not in _NO_WRITES:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_function = owner is None or ast.unparse(owner) in ("torch", "F", "nn.init", "init", "torch.nn.init")
        target = (call.args[0] if call.args else None) if is_function else owner
        if target is not None:
            part = target is owner and isinstance(target, ast.Subscript | ast.Call)
            yield target, _SLICES if part else _camel(name)


def owners_of(node: ast.expr) -> Iterator[ast.expr]:
    """h.view(-1)[0], h.view(-1), h: an expression, then what it is a part or a form of."""
    while True:
        yield node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Subscript | ast.Attribute):
            node = node.value
        else:
            return


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.strip("_").split("_"))


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
