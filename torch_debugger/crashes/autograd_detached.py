"""Where a loss lost its graph: the user's lines walked back from it, beside what their names stand for now."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import nn

from torch_debugger.crashes.autograd_graph import (
    core_of,
    cuts_in,
    is_conversion,
    models_of,
    named_modules,
    named_parameters,
    op_name,
    optimizers_of,
    replay_cut,
    switch_around,
    switched_off,
)
from torch_debugger.crashes.frames import LiveCrash, attribute, is_tensor, statement_place
from torch_debugger.crashes.functions import LOOPS, Scope, assigned, definition_of, scopes
from torch_debugger.records import Place
from torch_debugger.records.crash_autograd import GraphCut, Rebinding
from torch_debugger.source.files import covers, nodes_of, tree_of
from torch_debugger.source.objects import is_a, is_one_of, name_of_class
from torch_debugger.source.syntax import calls_in, names_read

_DEPTH = 6


def examine_cut(crash: LiveCrash) -> GraphCut | None:
    """The first cut on the way back from what backward was called on."""
    for scope in scopes(crash)[:3]:
        lines = scope.on_line()
        # opt.zero_grad(); loss.backward(); opt.step()
        backward = [node for node in lines if "backward(" in ast.unparse(node)]
        found = _BackwardWalk(crash, scope).back_from((backward or lines)[-1], _DEPTH) if lines else None
        if found is not None:
            return found
    return _switched_off(crash) or _frozen(crash) or _constant(crash)


class _BackwardWalk:
    """From a statement back through the variables it reads."""

    def __init__(self, crash: LiveCrash, scope: Scope) -> None:
        self.crash, self.scope = crash, scope
        self.trainable = any(item.requires_grad for model in models_of(crash).values() for item in model.parameters())

    def back_from(self, node: ast.stmt | None, depth: int) -> GraphCut | None:
        if node is None or depth == 0:
            return None
        return self._cut_here(node) or self._block(node) or self._call(node) or self._variables(node, depth)

    def _cut_here(self, node: ast.stmt) -> GraphCut | None:
        made = getattr(node, "value", None)
        for cut in cuts_in(made) if made is not None else ():
            core = core_of(cut.inner)
            value = self.scope.resolve(core)
            if self._has_graph(value) or (value is None and self._gives_graph(core)):
                text, inner = ast.unparse(cut.node), ast.unparse(core) if is_conversion(cut.node) else ""
                parts = len(value) if is_one_of(value, (list, tuple)) else 0
                place = self.scope.place(node)
                return GraphCut(cut.reason, place, text, inner, proven=self._has_graph(value), parts=parts)
        return None

    def _has_graph(self, value: Any) -> bool:
        if is_one_of(value, (list, tuple)):
            return any(self._has_graph(item) for item in value[:8])
        return is_tensor(value) and bool(value.requires_grad)

    def _gives_graph(self, node: ast.expr) -> bool:
        """An expression made of something that has a graph: a trainable module's output, a variable."""
        called = [self.scope.resolve(call.func) for call in calls_in(node)]
        modules = [module for module in called if is_a(module, nn.Module)]
        trained = any(item.requires_grad for module in modules for item in module.parameters())
        return trained or any(self._has_graph(self.scope.named(name)) for name in names_read(node))

    def _block(self, node: ast.stmt) -> GraphCut | None:
        """`with no_grad():` around a statement that would have made a graph."""
        blocks = [one for one in self.scope.statements() if isinstance(one, ast.With) and covers(one, node.lineno)]
        for block in blocks[::-1]:
            contexts = [item.context_expr for item in block.items if switched_off(item.context_expr)]
            made = getattr(node, "value", None)
            trains = made is not None and (self._gives_graph(made) or (self.trainable and bool(calls_in(made))))
            if contexts and block is not node and trains:
                place, text = statement_place(self.scope.file, block.lineno), ast.unparse(contexts[0])
                return GraphCut("no_grad", place, text, ast.unparse(node), proven=True)
        return None

    def _call(self, node: ast.stmt) -> GraphCut | None:
        """A model or a function of the user's that gives a result without a graph."""
        made = [self.scope.resolve(ast.parse(name, mode="eval").body) for name in assigned(node)]
        for call in calls_in(node)[::-1]:
            called, found = self.scope.resolve(call.func), None
            if is_a(called, nn.Module) and not any(self._has_graph(value) for value in made):
                args = tuple(self.scope.value(item) for item in call.args)
                paths = {id(module): path for path, module in named_modules(self.crash)}
                known = bool(args) and not any(item is None for item in args)
                if known and any(item.requires_grad for item in called.parameters()):
                    found = replay_cut(called, args, paths)
            elif inspect.isfunction(called):
                found = function_cut(called, self.trainable)
            if found is not None:
                return found
        return None

    def _variables(self, node: ast.stmt, depth: int) -> GraphCut | None:
        for name in dict.fromkeys(names_read(getattr(node, "value", node))):
            value = self.scope.named(name)
            is_data = is_tensor(value) or is_one_of(value, (float, list, tuple, numpy.ndarray))
            if is_data and not self._has_graph(value):
                made = self.scope.assignment_before(name, node.lineno)
                found = self.back_from(made, depth - 1) if made is not node else None
                if found is not None:
                    return found
        return None


def function_cut(function: Any, trainable: bool) -> GraphCut | None:
    """A cut in a function's own source: its decorator, or what it returns."""
    node = definition_of(inspect.unwrap(function))
    if node is None or not trainable:
        return None
    file = inspect.unwrap(function).__code__.co_filename
    switch = switch_around(file, node.lineno)
    if switch is not None:
        return switch
    for value in _returned(node):
        for cut in cuts_in(value):
            place = statement_place(file, value.lineno)
            return GraphCut(cut.reason, place, ast.unparse(cut.node), ast.unparse(core_of(cut.inner)))
    return None


def _returned(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """What is returned, and what the variables it is made of were made of, from the last line up."""
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.Return | ast.Assign)]
    wanted: set[str] = set()
    for node in sorted(nodes, key=lambda node: -node.lineno):
        if node.value is not None and (isinstance(node, ast.Return) or wanted & set(assigned(node))):
            wanted |= set(names_read(node.value))
            yield node.value


# A loss without a graph as nothing in reach asks for gradients: frozen models, plain tensors, a switch.
def _switched_off(crash: LiveCrash) -> GraphCut | None:
    """Recording is off to this moment, and a line of the user's files turned it off."""
    if torch.is_grad_enabled():
        return None
    endings = ("set_grad_enabled(False)", "set_grad_enabled(mode=False)", "no_grad().__enter__()")
    place, text = next(_nodes_ending_so(crash, ast.Call, endings), (None, ""))
    return GraphCut("switched-off", place, text, proven=True) if place is not None else None


def _frozen(crash: LiveCrash) -> GraphCut | None:
    parameters = dict(named_parameters(crash))
    if not parameters or any(item.requires_grad for item in parameters.values()):
        return None
    calls = _nodes_ending_so(crash, ast.Call, (".requires_grad_(False)",))
    statements = _nodes_ending_so(crash, ast.Assign, (".requires_grad = False",))
    place, _ = next(itertools.chain(calls, statements), (Place(), ""))
    name = next(iter(models_of(crash)), "")
    return GraphCut("frozen", place, place.code or "", name, proven=True, parameters=len(parameters))


def _nodes_ending_so(crash: LiveCrash, kind: type[ast.AST], endings: tuple[str, ...]) -> Iterator[tuple[Place, str]]:
    """Where in the user's files calls or assignments are written so."""
    for file in crash.user_files:
        nodes = [node for node in nodes_of(tree_of(file) or ast.Module([], [])) if isinstance(node, kind)]
        for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):  # type: ignore[attr-defined]
            if (text := ast.unparse(node)).endswith(endings):
                yield statement_place(file, node.lineno), text  # type: ignore[attr-defined]


def _constant(crash: LiveCrash) -> GraphCut | None:
    """A plain tensor that is meant to be trained: an optimizer holds it, or its .grad is read."""
    trained = [item for one in optimizers_of(crash).values() for group in one.param_groups for item in group["params"]]
    for scope in scopes(crash):
        for name, value in list(scope.seen.locals.items()):
            if not is_tensor(value) or value.requires_grad or not value.is_leaf or not value.is_floating_point():
                continue
            node = scope.assignment_before(name, scope.line)
            if node is None or asks_gradient(node):  # asked for there, and lost where nothing tells
                continue
            attributes = (part for part in ast.walk(scope.function) if isinstance(part, ast.Attribute))
            is_read = any(part.attr == "grad" and ast.unparse(part.value) == name for part in attributes)
            if is_read or any(item is value for item in trained):
                made = getattr(node, "value", None)
                text = ast.unparse(made) if isinstance(made, ast.Call) else ""
                return GraphCut("constant", scope.place(node), text, name, proven=True)
    return None


# Weights updated by hand into new tensors: `w = w - lr * w.grad` leaves the trained tensor behind.
_OPERATORS: dict[type, tuple[str, str]] = {ast.Sub: ("Sub", "-="), ast.Add: ("Add", "+=")}


def examine_rebound(crash: LiveCrash, gradient_missed: bool) -> tuple[Rebinding, ...]:
    """Every update that gave a name a new tensor; where a gradient was None, one of them must be its cause."""
    of_frames = [one for each in scopes(crash) for one in rebinds_in(each.statements(), each.file, each.resolve)]
    unique: dict[tuple[str, int, str], Rebind] = {}
    for rebind in (*of_frames, *_of_methods(crash)):
        unique.setdefault((rebind.file, rebind.node.lineno, rebind.name), rebind)
    updates = list(unique.values())
    found = [rebind for rebind in updates if _is_left_behind(rebind)]
    if not found or (gradient_missed and not _missed(crash, found)):
        return ()
    # b = b - lr * b.grad is next, when `w` already failed
    coming = [rebind for rebind in updates if rebind not in found and _will_be_left(rebind)]
    return tuple(_rebinding(rebind) for rebind in (*found, *coming))


def _of_methods(crash: LiveCrash) -> Iterator[Rebind]:
    """Those of methods whose object is at hand."""
    spaces = [names for seen in crash.user_frames for names in (seen.frame.f_globals, seen.locals)]
    objects = {name_of_class(type(value)): value for names in spaces for value in list(names.values())}
    for file in crash.user_files:
        for node in nodes_of(tree_of(file) or ast.Module([], [])):
            owner = objects.get(node.name) if isinstance(node, ast.ClassDef) else None
            if owner is not None:
                statements = [part for part in ast.walk(node) if isinstance(part, ast.stmt)]
                yield from rebinds_in(statements, file, functools.partial(_attribute_of_self, owner))


def _attribute_of_self(owner: Any, node: ast.expr) -> Any:
    is_self = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"
    return attribute(owner, node.attr) if is_self and isinstance(node, ast.Attribute) else None


def _is_left_behind(rebind: Rebind) -> bool:
    """Whether what the name holds now is the update's result, and no gradient will come to it."""
    tensors = [item for item in _tensors(rebind.held) if item.is_floating_point()]
    plain = [item for item in tensors if not item.requires_grad]
    if plain and len(plain) == len(tensors):
        return rebind.reads_gradient or any(asks_gradient(node) for node in rebind.makers)
    operator, _ = _OPERATORS.get(type(rebind.operator), ("", ""))
    made = [item for item in tensors if item.grad_fn is not None and op_name(item.grad_fn.name()) == operator]
    # w = torch.randn(3, requires_grad=True) + 1 was no leaf from the start
    computed = any(isinstance(getattr(node, "value", None), ast.BinOp) for node in rebind.makers)
    return bool(made) and rebind.reads_gradient and not computed


def _will_be_left(rebind: Rebind) -> bool:
    tensors = _tensors(rebind.held)
    return rebind.reads_gradient and bool(tensors) and all(item.is_leaf for item in tensors)


def _tensors(value: Any) -> list[torch.Tensor]:
    items = list(value.values()) if type(value) is dict else value if is_one_of(value, (list, tuple)) else [value]
    return [item for item in items if is_tensor(item)]


def _missed(crash: LiveCrash, found: list[Rebind]) -> bool:
    """Whether the failing line reads the gradient of a tensor that an update made."""
    scope = next(iter(scopes(crash)), None)
    lines = scope.on_line() if scope is not None else []
    if scope is None or not lines:
        return False
    names, made = [rebind.name for rebind in found], [item for rebind in found for item in _tensors(rebind.held)]
    read = [part.value for part in ast.walk(lines[-1]) if isinstance(part, ast.Attribute) and part.attr == "grad"]
    return any(ast.unparse(part) in names or any(scope.resolve(part) is item for item in made) for part in read)


def _rebinding(rebind: Rebind) -> Rebinding:
    place = statement_place(rebind.file, rebind.node.lineno)
    return Rebinding(
        rebind.name,
        place,
        in_place(rebind, place.code or ""),
        recorded=any(item.grad_fn is not None for item in _tensors(rebind.held)),
        switched_off=switch_around(rebind.file, rebind.node.lineno) is not None,
        cleared=any(word in ast.unparse(tree_of(rebind.file) or ast.Module([], [])) for word in _CLEARING),
    )


# Statements that compute a variable's next value from its own: `w = w - lr * w.grad`.
_CLEARING = ("grad.zero_(", "grad.data.zero_(", "zero_grad(", ".grad = ", "autograd.grad(")


@dataclass(frozen=True)
class Rebind:
    """One update, beside what its variable holds now."""

    file: str
    node: ast.stmt
    target: ast.expr
    value: ast.expr
    held: Any  # of params[k], all params
    makers: tuple[ast.stmt, ...]  # the other statements that give the variable a value or ask for its gradient

    @property
    def name(self) -> str:
        return ast.unparse(self.target)

    @property
    def reads_gradient(self) -> bool:
        return any(isinstance(part, ast.Attribute) and part.attr == "grad" for part in ast.walk(self.value))

    @property
    def operator(self) -> ast.operator | None:
        value = self.value.elt if isinstance(self.value, ast.ListComp) else self.value
        return value.op if isinstance(value, ast.BinOp) else None


def rebinds_in(statements: Sequence[ast.stmt], file: str, resolve: Callable[[ast.expr], Any]) -> Iterator[Rebind]:
    for node in statements:
        repeats = any(is_a(one, LOOPS) and covers(one, node.lineno) for one in statements)
        for target, value in _pairs(node) if isinstance(node, ast.Assign) else ():
            kept, name = target.value if isinstance(target, ast.Subscript) else target, ast.unparse(target)
            now = resolve(kept)
            reads = any(isinstance(part, ast.expr) and ast.unparse(part) == name for part in ast.walk(value))
            if now is None or not reads:
                continue
            makers = tuple(one for one in statements if one is not node and _makes(one, ast.unparse(kept)))
            found = Rebind(file, node, target, value, now, makers)
            if repeats or found.reads_gradient:
                yield found


def _makes(node: ast.stmt, name: str) -> bool:
    """w = ..., w.requires_grad_(), w.requires_grad = True"""
    text = ast.unparse(node) if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr) else ""
    targets = [target for target, _ in _pairs(node)] if isinstance(node, ast.Assign) else []
    asks = text.startswith((f"{name}.requires_grad_(", f"{name}.requires_grad ="))
    return asks or any(ast.unparse(target) == name for target in targets)


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """w, b = w - lr * w.grad, b - lr * b.grad has two of them."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def asks_gradient(maker: ast.stmt) -> bool:
    """Whether a statement makes a tensor that is trained: requires_grad=True, nn.Parameter(...)"""
    text = ast.unparse(maker)
    asks = ("requires_grad=True", "requires_grad = True", "requires_grad_()", "requires_grad_(True)")
    return any(word in text for word in (*asks, "Parameter("))


def in_place(rebind: Rebind, code: str) -> str:
    """The same update written into the tensor itself: w -= lr * w.grad"""
    body = ast.parse(code).body
    pairs = _pairs(body[0]) if body and isinstance(body[0], ast.Assign) else []
    again = next((value for target, value in pairs if ast.unparse(target) == rebind.name), None)
    if isinstance(again, ast.ListComp) and len(again.generators) == 1:
        loop, update = again.generators[0], _augmented(again.elt, code)
        if update and not loop.ifs:
            return f"for {_text(loop.target, code)} in {_text(loop.iter, code)}:\n    {update}"
        return ""
    if again is None:
        return ""
    same = isinstance(again, ast.BinOp) and ast.unparse(core_of(again.left)) == rebind.name
    one = not is_one_of(rebind.held, (list, tuple, dict)) or isinstance(rebind.target, ast.Subscript)
    whole = f"{rebind.name}.copy_({_text(again, code)})" if one else ""
    return (_augmented(again, code) if same else "") or whole


def _augmented(node: ast.expr, code: str) -> str:
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATORS:
        return ""
    return f"{_text(core_of(node.left), code)} {_OPERATORS[type(node.op)][1]} {_text(node.right, code)}"


def _text(node: ast.expr, code: str) -> str:
    return ast.get_source_segment(code, node) or ast.unparse(node)
