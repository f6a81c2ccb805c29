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
    Write,
    backward_roots,
    graph_of_loss,
    models_of,
    named_modules,
    named_parameters,
    op_name,
    optimizers_of,
    replay_writes,
)
from torch_debugger.crashes.frames import LiveCrash, is_tensor, statement_place
from torch_debugger.crashes.functions import Scope, definition_of, scopes
from torch_debugger.records import Place
from torch_debugger.records.crash_autograd import InPlaceWrite, Overwritten
from torch_debugger.source.constructors import constructor_places
from torch_debugger.source.files import covers, nodes_of, tree_of
from torch_debugger.source.objects import is_a
from torch_debugger.source.syntax import calls_in

_VICTIM = re.compile(
    r"\[torch\.(?:\w+\.)?\w+ \[([\d, ]*)\]\](?:, which is output \d+ of ([\w:]+),)? is at version (\d+); "
    r"expected version (\d+) instead"
)
_CALLS = 4


def examine_overwritten(crash: LiveCrash, message: str) -> Overwritten | None:
    """The victim is named by torch's message; who wrote must be shown by something else."""
    found = _VICTIM.search(message)
    if found is None:
        return None
    shape = tuple(int(size) for size in re.findall(r"\d+", found[1]))
    victim = Overwritten(shape, op_name(found[2] or ""), int(found[3]), int(found[4]), "", ())
    return _by_replay(crash, victim) or find_steps(crash, victim) or _by_source(crash, victim)


def _by_replay(crash: LiveCrash, victim: Overwritten) -> Overwritten | None:
    count = victim.version - victim.expected
    for model, args, kwargs in _calls(crash):
        for conflict in replay_writes(model, args, kwargs):
            if conflict.shape == victim.shape and len(conflict.writes) == count:
                paths = {id(module): path for path, module in named_modules(crash)}
                writes = tuple(_replayed(write, crash, paths) for write in conflict.writes)
                saved = conflict.saved
                place = statement_place(saved.file, saved.line, paths.get(id(saved.layer or saved.module)))
                return dataclasses.replace(victim, by="replay", writes=writes, saved=place)
    return None


def _replayed(write: Write, crash: LiveCrash, paths: dict[int, str]) -> InPlaceWrite:
    moment, layer = write.moment, write.moment.layer
    path = paths.get(id(layer or moment.module))
    made = Place()
    for name, model in models_of(crash).items() if layer is not None and path else ():
        if path == name or str(path).startswith(f"{name}."):
            files = dict.fromkeys([moment.file, *(seen.file for seen in crash.frames if seen.user)])
            made = constructor_places(model, name, list(files)).get(str(path), Place())
            break
    kind = type(layer).__name__ if layer else ""
    return InPlaceWrite(statement_place(moment.file, moment.line, path), write.operation, layer=kind, constructor=made)


def _calls(crash: LiveCrash) -> Iterator[tuple[nn.Module, tuple[Any, ...], dict[str, Any]]]:
    """What the models were last called with; where nobody watched, what the user's lines still tell."""
    watched = [(crash.running.models[name], *call) for name, call in crash.running.calls.items()]
    yield from watched[:_CALLS]
    if watched:
        return
    for scope in scopes(crash):
        calls = [call for call in calls_in(scope.function) if call.lineno <= scope.line]
        for call in calls[::-1][:50]:
            module = scope.resolve(call.func)
            args = tuple(scope.value(item) for item in call.args)
            named = {word.arg: scope.value(word.value) for word in call.keywords if word.arg}
            if is_a(module, nn.Module) and args and not any(item is None for item in args):
                yield module, args, named


def _by_source(crash: LiveCrash, victim: Overwritten) -> Overwritten | None:
    """A statement of the functions under way whose write the graph or the variable's version shows."""
    edges = {  # (operation, what it was done to)
        (op_name(node.name()) or node.name(), op_name(after.name()))
        for node in graph_of_loss(crash)
        for after, _ in node.next_functions
        if after is not None
    }
    for scope in scopes(crash):
        loops = scope.loops()
        # above the failing line, or below it in a loop that holds both
        nodes = [
            node for node in scope.statements()
            if node.lineno < scope.line or any(covers(loop, node.lineno) for loop in loops)
        ]  # fmt: skip
        writes = [write for node in nodes for write in writes_in(node)]
        for by, found in (
            ("variable", [write for write in writes if _is_victim(_tensor(scope, write), victim)]),
            ("graph", [write for write in writes if (write.operation, victim.maker) in edges]),
        ):
            if found:
                last = found[-(victim.version - victim.expected) :]
                return dataclasses.replace(victim, by=by, writes=tuple(write.fact(scope.file) for write in last))
    return _in_ended_function(crash, victim, edges)


def _in_ended_function(crash: LiveCrash, victim: Overwritten, edges: set[tuple[str, str]]) -> Overwritten | None:
    """The only statement of the user's files that makes the write which the graph shows."""
    # the graph has this operation done to the victim; or the victim now is what the write made of it
    shown = {operation for operation, maker in edges if victim.maker in (maker, operation)}
    found = [
        (file, write)
        for file in crash.user_files
        for node in nodes_of(tree_of(file) or ast.Module([], []))
        for write in (writes_in(node) if isinstance(node, ast.stmt) else ())
        if write.operation in shown
    ]
    if len(found) != 1:
        return None
    file, write = found[0]
    return dataclasses.replace(victim, by="source", writes=(write.fact(file),))


def _tensor(scope: Scope, write: SourceWrite) -> Any:
    return next(filter(is_tensor, map(scope.resolve, owners_of(write.target))), None)


def _is_victim(value: Any, victim: Overwritten) -> bool:
    """The very tensor, or a view of it: views share the version counter."""
    if not is_tensor(value) or value._version != victim.version:
        return False
    base = value._base if value._base is not None else value
    return victim.shape in (tuple(value.shape), tuple(base.shape), tuple(value.shape)[::-1])


# Parameters that changed between forward and backward: by an optimizer's step, or by the user's own update.
_TRANSPOSED = ("", "T", "Transpose", "AsStrided", "Permute", "View", "ReshapeAlias", "Expand", "Unsqueeze")


def find_steps(crash: LiveCrash, victim: Overwritten) -> Overwritten | None:
    """The victim is a parameter at the very version that torch complains of, and a line changed it."""
    if victim.maker not in _TRANSPOSED:
        return None
    for name, parameter in _parameters(crash):
        # the same sizes: it may have been transposed
        if parameter._version != victim.version or sorted(parameter.shape) != sorted(victim.shape):
            continue
        found = _called_between(crash, parameter) or _step(crash, parameter) or _update(crash)
        if found is not None:
            by, write = found
            return dataclasses.replace(
                victim, by=by, writes=(write,), parameter=name, loss_made=loss_made(crash),
                carried=find_carried(crash) if _in_last_round(crash, write.place) else None,
            )  # fmt: skip
    return None


def _in_last_round(crash: LiveCrash, step: Place) -> bool:
    """Whether the step stands below the failing line in a loop around both: it ran one round earlier."""
    for scope in scopes(crash):
        if scope.file == step.file and step.line is not None and step.line > scope.line:
            return any(covers(loop, step.line) for loop in scope.loops())
    return False


def _parameters(crash: LiveCrash) -> Iterator[tuple[str, torch.Tensor]]:
    yield from named_parameters(crash)
    for scope in scopes(crash):
        for name, value in list(scope.seen.locals.items()):
            if type(value) is torch.Tensor and value.is_leaf and value.requires_grad:
                yield name, value


def _called_between(crash: LiveCrash, parameter: torch.Tensor) -> tuple[str, InPlaceWrite] | None:
    """Between the line that made the loss and the backward: model.load_state_dict(...), or a function of the
    user's that writes without gradients, constrain(net)."""
    made = loss_made(crash).line
    between = [
        (scope, call) for scope in scopes(crash) for call in calls_in(scope.function)
        if (made or 0) < call.lineno < scope.line
    ]  # fmt: skip
    for scope, call in between:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "load_state_dict":
            model = scope.resolve(call.func.value)
            if is_a(model, nn.Module) and any(item is parameter for item in model.parameters()):
                return "step", InPlaceWrite(scope.place(call), "load_state_dict")
    innermost = [(scope, call) for scope, call in between if scope.seen is crash.user_frame and made is not None]
    for scope, call in innermost:
        function = scope.resolve(call.func)
        if isinstance(call.func, ast.Attribute):  # a method as its class has it
            owner = scope.resolve(call.func.value)
            function = inspect.getattr_static(type(owner), call.func.attr, function)
        if _writes_unseen(function):
            return "update", InPlaceWrite(scope.place(call), ast.unparse(call.func))
    return None


def _writes_unseen(function: Any) -> bool:
    """Weights can be written only where nobody records it: under no_grad, or by way of `.data`."""
    body = definition_of(inspect.unwrap(function)) if callable(function) else None
    if body is None:
        return False
    writes = [write for node in ast.walk(body) if isinstance(node, ast.stmt) for write in writes_in(node)]
    unrecorded = "no_grad" in ast.unparse(body)
    return any(
        isinstance(write.node, ast.Expr) and (unrecorded or ".data" in ast.unparse(write.target))
        for write in writes
        if "grad" not in ast.unparse(write.target)
    )


def _step(crash: LiveCrash, parameter: torch.Tensor) -> tuple[str, InPlaceWrite] | None:
    for name, optimizer in optimizers_of(crash).items():
        if any(item is parameter for group in optimizer.param_groups for item in group["params"]):
            place = _step_call(crash, name, optimizer)
            if place is not None:
                return "step", InPlaceWrite(place, f"{name}.step", name)
    return None


def _step_call(crash: LiveCrash, name: str, optimizer: Any) -> Place | None:
    """The line that steps this optimizer, in the functions under way; else the one of its name in a file."""
    passed: set[tuple[str, int]] = set()  # they have not run between the forward and here
    for scope in scopes(crash):
        calls = [
            call for call in _step_calls(scope.function)
            if any(scope.resolve(item) is optimizer for item in (call.func.value, *call.args))  # type: ignore[attr-defined]
        ]  # fmt: skip
        above = [call for call in calls if call.lineno < scope.line]
        rounds = [call for call in calls if any(covers(loop, call.lineno) for loop in scope.loops())]
        if above or rounds:
            return scope.place((above or rounds)[-1])
        passed |= {(scope.file, call.lineno) for call in calls}
    for file in crash.user_files:
        calls = [
            call for call in _step_calls(tree_of(file) or ast.Module([], []))
            if any(ast.unparse(item).rpartition(".")[2] == name for item in (call.func.value, *call.args))  # type: ignore[attr-defined]
        ]  # fmt: skip
        if len(calls) == 1 and (file, calls[0].lineno) not in passed:
            return statement_place(file, calls[0].lineno)
    return None


def _step_calls(scope: ast.AST) -> list[ast.Call]:
    return [call for call in calls_in(scope) if isinstance(call.func, ast.Attribute) and call.func.attr == "step"]


def _update(crash: LiveCrash) -> tuple[str, InPlaceWrite] | None:
    """The only statement under `no_grad` that writes: w -= lr * w.grad"""
    for scope in scopes(crash):
        blocks = [node for node in scope.statements() if isinstance(node, ast.With)]
        blocks = [node for node in blocks if any("no_grad" in ast.unparse(item.context_expr) for item in node.items)]
        inside = [node for node in scope.statements() if any(covers(block, node.lineno) for block in blocks)]
        for write in (write for node in inside for write in writes_in(node)):
            if "grad" not in ast.unparse(write.target):
                return "update", write.fact(scope.file)
    return None


def loss_made(crash: LiveCrash) -> Place:
    """The statement that made what backward was called on."""
    roots = backward_roots(crash)
    for scope in scopes(crash) if roots else ():
        for name, value in list(scope.seen.locals.items()):
            if value is roots[0]:
                return scope.assigned_at(name)
    return Place()


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

    def fact(self, file: str) -> InPlaceWrite:
        return InPlaceWrite(statement_place(file, self.node.lineno), self.operation, ast.unparse(self.target))


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
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    operation = "".join(part.capitalize() for part in name.strip("_").split("_"))
    if call.args and any(word.arg == "inplace" and ast.unparse(word.value) == "True" for word in call.keywords):
        yield call.args[0], operation
    elif name.endswith("_") and not name.endswith("__") and name not in _NO_WRITES:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_function = owner is None or ast.unparse(owner) in ("torch", "F", "nn.init", "init", "torch.nn.init")
        target = (call.args[0] if call.args else None) if is_function else owner
        if target is not None:
            part = target is owner and isinstance(target, ast.Subscript | ast.Call)
            yield target, _SLICES if part else operation


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
