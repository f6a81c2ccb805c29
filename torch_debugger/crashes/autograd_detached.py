"""Where a loss lost its graph: the user's lines walked back from it, beside what their names stand for now."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import nn

from torch_debugger.crashes.autograd_graph import (
    SourceCut,
    core_of,
    cuts_in,
    is_conversion,
    models_of,
    named_modules,
    named_parameters,
    op_name,
    optimizers_of,
    replay_cut,
    scopes,
    switch_around,
    switched_off,
)
from torch_debugger.crashes.frames import LiveCrash, attribute, is_tensor
from torch_debugger.crashes.functions import LOOPS, Scope, assigned, definition_of, statement_place
from torch_debugger.records import Place
from torch_debugger.records.crash_autograd import GraphCut, Rebinding
from torch_debugger.source.files import covers, tree_of
from torch_debugger.source.objects import is_a, is_one_of, name_of_class
from torch_debugger.source.syntax import calls_in, names_read

_DEPTH = 6


def examine_cut(scene: LiveCrash) -> GraphCut | None:
    """The first cut on the way back from what backward was called on."""
    for scope in scopes(scene)[:3]:
        walk = _Walk(scene, scope)
        found = walk.back_from(_failing(scope), _DEPTH) if _failing(scope) is not None else None
        if found is not None:
            return found
    return find_untrained(scene)


def _failing(scope: Scope) -> ast.stmt | None:
    lines = [node for node in scope.statements() if covers(node, scope.line) and not hasattr(node, "body")]
    # opt.zero_grad(); loss.backward(); opt.step()
    backward = [node for node in lines if "backward(" in ast.unparse(node)]
    return (backward or lines)[-1] if lines else None


class _Walk:
    """From a statement back through the variables it reads."""

    def __init__(self, scene: LiveCrash, scope: Scope) -> None:
        self.scene, self.scope = scene, scope
        self.trainable = any(item.requires_grad for model in models_of(scene).values() for item in model.parameters())

    def back_from(self, node: ast.stmt | None, depth: int) -> GraphCut | None:
        if node is None or depth == 0:
            return None
        return self._cut_here(node) or self._block(node) or self._call(node) or self._variables(node, depth)

    def _cut_here(self, node: ast.stmt) -> GraphCut | None:
        value = getattr(node, "value", None)
        for cut in cuts_in(value) if value is not None else ():
            core = core_of(cut.inner)
            held = self.scope.held(core)
            if self._has_graph(held) or (held is None and self._gives_graph(core)):
                return self._told(cut, node, proven=self._has_graph(held))
        return None

    def _has_graph(self, value: Any) -> bool:
        if is_one_of(value, (list, tuple)):
            return any(self._has_graph(item) for item in value[:8])
        return is_tensor(value) and bool(value.requires_grad)

    def _gives_graph(self, node: ast.expr) -> bool:
        """An expression made of something that has a graph: a trainable module's output, a variable."""
        called = [self.scope.held(call.func) for call in calls_in(node)]
        modules = [module for module in called if is_a(module, nn.Module)]
        trained = any(item.requires_grad for module in modules for item in module.parameters())
        return trained or any(self._has_graph(self.scope.named(name)) for name in names_read(node))

    def _told(self, cut: SourceCut, node: ast.stmt, proven: bool) -> GraphCut:
        text = ast.unparse(cut.node)
        inner = ast.unparse(core_of(cut.inner)) if is_conversion(cut.node) else ""
        held = self.scope.held(core_of(cut.inner))
        parts = len(held) if is_one_of(held, (list, tuple)) else 0
        return GraphCut(cut.reason, self.scope.place(node), text, inner, proven=proven, parts=parts)

    def _block(self, node: ast.stmt) -> GraphCut | None:
        """`with no_grad():` around a statement that would have made a graph."""
        blocks = [one for one in self.scope.statements() if isinstance(one, ast.With) and covers(one, node.lineno)]
        for block in blocks[::-1]:
            contexts = [item.context_expr for item in block.items if switched_off(item.context_expr)]
            if contexts and block is not node and self._would_train(node):
                place, text = statement_place(self.scope.file, block.lineno), ast.unparse(contexts[0])
                return GraphCut("no_grad", place, text, ast.unparse(node), proven=True)
        return None

    def _would_train(self, node: ast.stmt) -> bool:
        value = getattr(node, "value", None)
        return value is not None and (self._gives_graph(value) or (self.trainable and bool(calls_in(value))))

    def _call(self, node: ast.stmt) -> GraphCut | None:
        """A model or a function of the user's that gives a result without a graph."""
        for call in calls_in(node)[::-1]:
            called = self.scope.held(call.func)
            found = None
            if is_a(called, nn.Module) and self._is_given_result(node):
                found = self._model(called, call)
            elif inspect.isfunction(called):
                found = function_cut(called, self.trainable)
            if found is not None:
                return found
        return None

    def _is_given_result(self, node: ast.stmt) -> bool:
        """Whether what the statement made has no graph now; unknown counts as yes."""
        held = [self.scope.held(ast.parse(name, mode="eval").body) for name in assigned(node)]
        return not any(self._has_graph(value) for value in held)

    def _model(self, model: nn.Module, call: ast.Call) -> GraphCut | None:
        if not any(item.requires_grad for item in model.parameters()):
            return None
        args = tuple(self.scope.value(item) for item in call.args)
        paths = {id(module): path for path, module in named_modules(self.scene)}
        return replay_cut(model, args, paths) if args and not any(item is None for item in args) else None

    def _variables(self, node: ast.stmt, depth: int) -> GraphCut | None:
        for name in dict.fromkeys(names_read(getattr(node, "value", node))):
            value = self.scope.named(name)
            if _is_data(value) and not self._has_graph(value):
                made = self.scope.assignment_before(name, node.lineno)
                found = self.back_from(made, depth - 1) if made is not node else None
                if found is not None:
                    return found
        return None


def _is_data(value: Any) -> bool:
    return is_tensor(value) or is_one_of(value, (float, list, tuple, numpy.ndarray))


def function_cut(function: Any, trainable: bool) -> GraphCut | None:
    """A cut in a function's own source: its decorator, or what it returns."""
    unwrapped = inspect.unwrap(function)
    code, node = unwrapped.__code__, definition_of(unwrapped)
    if node is None or not trainable:
        return None
    switch = switch_around(code.co_filename, node.lineno)
    if switch is not None:
        return switch
    for value in _returned(node):
        for cut in cuts_in(value):
            place = statement_place(code.co_filename, value.lineno)
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
def find_untrained(scene: LiveCrash) -> GraphCut | None:
    return _switched_off(scene) or _frozen(scene) or _constant(scene)


def _switched_off(scene: LiveCrash) -> GraphCut | None:
    """Recording is off to this moment, and a line of the user's files turned it off."""
    if torch.is_grad_enabled():
        return None
    for file, call in _calls(scene):
        text = ast.unparse(call)
        if text.endswith(("set_grad_enabled(False)", "set_grad_enabled(mode=False)", "no_grad().__enter__()")):
            return GraphCut("switched-off", statement_place(file, call.lineno), text, proven=True)
    return None


def _frozen(scene: LiveCrash) -> GraphCut | None:
    parameters = dict(named_parameters(scene))
    if not parameters or any(item.requires_grad for item in parameters.values()):
        return None
    place = next(_freezing(scene), Place())
    name = next(iter(models_of(scene)), "")
    return GraphCut("frozen", place, place.code or "", name, proven=True, parameters=len(parameters))


def _freezing(scene: LiveCrash) -> Iterator[Place]:
    """p.requires_grad = False, model.requires_grad_(False)"""
    for file, call in _calls(scene):
        if ast.unparse(call).endswith(".requires_grad_(False)"):
            yield statement_place(file, call.lineno)
    for file in _files(scene):
        tree = tree_of(file)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Assign) and ast.unparse(node).endswith(".requires_grad = False"):
                yield statement_place(file, node.lineno)


def _constant(scene: LiveCrash) -> GraphCut | None:
    """A plain tensor that is meant to be trained: an optimizer holds it, or its .grad is read."""
    held = [item for one in optimizers_of(scene).values() for group in one.param_groups for item in group["params"]]
    for scope in scopes(scene):
        for name, value in list(scope.seen.frame.f_locals.items()):
            if not is_tensor(value) or value.requires_grad or not value.is_leaf or not value.is_floating_point():
                continue
            node = scope.assignment_before(name, scope.line)
            if node is None or asks_gradient(node):  # asked for there, and lost where nothing tells
                continue
            if any(item is value for item in held) or _gradient_is_read(scope, name):
                made = getattr(node, "value", None)
                text = ast.unparse(made) if isinstance(made, ast.Call) else ""
                return GraphCut("constant", scope.place(node), text, name, proven=True)
    return None


def _gradient_is_read(scope: Scope, name: str) -> bool:
    attributes = [node for node in ast.walk(scope.function) if isinstance(node, ast.Attribute)]
    return any(node.attr == "grad" and ast.unparse(node.value) == name for node in attributes)


def _calls(scene: LiveCrash) -> Iterator[tuple[str, ast.Call]]:
    for file in _files(scene):
        tree = tree_of(file)
        yield from ((file, call) for call in (calls_in(tree) if tree is not None else ()))


def _files(scene: LiveCrash) -> list[str]:
    return list(dict.fromkeys(seen.file for seen in reversed(scene.frames) if seen.user))


# Weights updated by hand into new tensors: `w = w - lr * w.grad` leaves the trained tensor behind.
_OPERATORS = {ast.Sub: "Sub", ast.Add: "Add"}


def examine_rebound(scene: LiveCrash, gradient_missed: bool) -> tuple[Rebinding, ...]:
    """Every update that gave a name a new tensor; where a gradient was None, one of them must be its cause."""
    updates = list(_all(scene))
    found = [rebind for rebind in updates if _is_left_behind(rebind)]
    if not found or (gradient_missed and not _missed(scene, found)):
        return ()
    # b = b - lr * b.grad is next, when `w` already failed
    coming = [rebind for rebind in updates if rebind not in found and _will_be_left(rebind)]
    return tuple(_told(rebind) for rebind in (*found, *coming))


def _all(scene: LiveCrash) -> Iterator[Rebind]:
    """Those of the functions under way, then those of methods whose object is at hand."""
    seen: set[tuple[str, int, str]] = set()
    for rebind in (*_of_frames(scene), *_of_methods(scene)):
        key = (rebind.file, rebind.node.lineno, rebind.name)
        if key not in seen:
            seen.add(key)
            yield rebind


def _of_frames(scene: LiveCrash) -> Iterator[Rebind]:
    for scope in scopes(scene):
        yield from rebinds_in(scope.statements(), scope.file, scope.held)


def _of_methods(scene: LiveCrash) -> Iterator[Rebind]:
    objects = {name_of_class(type(value)): value for scope in scopes(scene) for value in _held(scope)}
    for file in dict.fromkeys(scope.file for scope in scopes(scene)):
        tree = tree_of(file)
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)] if tree else []
        for node in classes:
            if node.name in objects:
                statements = [part for part in ast.walk(node) if isinstance(part, ast.stmt)]
                yield from rebinds_in(statements, file, _as_self(objects[node.name]))


def _held(scope: Scope) -> list[Any]:
    frame = scope.seen.frame
    return [*list(frame.f_globals.values()), *list(frame.f_locals.values())]


def _as_self(owner: Any) -> Callable[[ast.expr], Any]:
    def held(node: ast.expr) -> Any:
        mine = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"
        return attribute(owner, node.attr) if mine and isinstance(node, ast.Attribute) else None

    return held


def _is_left_behind(rebind: Rebind) -> bool:
    """Whether what the name holds now is the update's result, and no gradient will come to it."""
    tensors = [item for item in _tensors(rebind.held) if item.is_floating_point()]
    plain = [item for item in tensors if not item.requires_grad]
    if plain and len(plain) == len(tensors):
        return rebind.reads_gradient or any(asks_gradient(node) for node in rebind.makers)
    operator = next((name for kind, name in _OPERATORS.items() if is_a(rebind.operator, kind)), "")
    made = [item for item in tensors if item.grad_fn is not None and op_name(item.grad_fn) == operator]
    return bool(made) and rebind.reads_gradient and not any(_computes(node) for node in rebind.makers)


def _will_be_left(rebind: Rebind) -> bool:
    tensors = _tensors(rebind.held)
    return rebind.reads_gradient and bool(tensors) and all(item.is_leaf for item in tensors)


def _computes(maker: ast.stmt) -> bool:
    """w = torch.randn(3, requires_grad=True) + 1 was no leaf from the start."""
    return isinstance(getattr(maker, "value", None), ast.BinOp)


def _tensors(value: Any) -> list[torch.Tensor]:
    items = list(value.values()) if type(value) is dict else value if is_one_of(value, (list, tuple)) else [value]
    return [item for item in items if is_tensor(item)]


def _missed(scene: LiveCrash, found: list[Rebind]) -> bool:
    """Whether the failing line reads the gradient of a tensor that an update made."""
    scope = next(iter(scopes(scene)), None)
    lines = [node for node in scope.statements() if covers(node, scope.line)] if scope is not None else []
    lines = [node for node in lines if not hasattr(node, "body")]
    made = [item for rebind in found for item in _tensors(rebind.held)]
    for part in ast.walk(lines[-1]) if scope is not None and lines else ():
        if isinstance(part, ast.Attribute) and part.attr == "grad":
            owner = scope.held(part.value) if scope is not None else None
            named = [rebind.name for rebind in found]
            if ast.unparse(part.value) in named or any(owner is item for item in made):
                return True
    return False


def _told(rebind: Rebind) -> Rebinding:
    place = statement_place(rebind.file, rebind.node.lineno)
    return Rebinding(
        rebind.name,
        place,
        in_place(rebind, place.code or ""),
        recorded=any(item.grad_fn is not None for item in _tensors(rebind.held)),
        switched_off=switch_around(rebind.file, rebind.node.lineno) is not None,
        cleared=clears_gradients(rebind.file),
    )


# Statements that compute a variable's next value from its own: `w = w - lr * w.grad`.
_SIGNS = {ast.Sub: "-=", ast.Add: "+="}
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


def rebinds_in(statements: Sequence[ast.stmt], file: str, held: Callable[[ast.expr], Any]) -> Iterator[Rebind]:
    for node in statements:
        repeats = any(is_a(one, LOOPS) and covers(one, node.lineno) for one in statements)
        for target, value in _pairs(node) if isinstance(node, ast.Assign) else ():
            kept = target.value if isinstance(target, ast.Subscript) else target
            now = held(kept)
            if now is None or not _reads(value, target):
                continue
            makers = tuple(one for one in statements if one is not node and _concerns(one, ast.unparse(kept)))
            found = Rebind(file, node, target, value, now, makers)
            if repeats or found.reads_gradient:
                yield found


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """w, b = w - lr * w.grad, b - lr * b.grad has two of them."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _reads(value: ast.expr, target: ast.expr) -> bool:
    name = ast.unparse(target)
    return any(isinstance(part, ast.expr) and ast.unparse(part) == name for part in ast.walk(value))


def _concerns(node: ast.stmt, name: str) -> bool:
    """w = ..., w.requires_grad_(), w.requires_grad = True"""
    text = ast.unparse(node) if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr) else ""
    flagged = text.startswith((f"{name}.requires_grad_(", f"{name}.requires_grad ="))
    targets = [target for target, _ in _pairs(node)] if isinstance(node, ast.Assign) else []
    return flagged or any(ast.unparse(target) == name for target in targets)


def asks_gradient(maker: ast.stmt) -> bool:
    """Whether a statement makes a tensor that is trained: requires_grad=True, nn.Parameter(...)"""
    text = ast.unparse(maker)
    asks = ("requires_grad=True", "requires_grad = True", "requires_grad_()", "requires_grad_(True)")
    return any(word in text for word in (*asks, "Parameter("))


def clears_gradients(file: str) -> bool:
    tree = tree_of(file)
    text = ast.unparse(tree) if tree is not None else ""
    return any(word in text for word in _CLEARING)


def in_place(rebind: Rebind, code: str) -> str:
    """The same update written into the tensor itself: w -= lr * w.grad"""
    again = _as_written(rebind, code)
    if isinstance(again, ast.ListComp) and len(again.generators) == 1:
        loop, update = again.generators[0], _augmented(again.elt, code)
        if update and not loop.ifs:
            return f"for {_text(loop.target, code)} in {_text(loop.iter, code)}:\n    {update}"
        return ""
    if again is None:
        return ""
    same = isinstance(again, ast.BinOp) and ast.unparse(core_of(again.left)) == rebind.name
    whole = f"{rebind.name}.copy_({_text(again, code)})" if _is_one(rebind) else ""
    return (_augmented(again, code) if same else "") or whole


def _is_one(rebind: Rebind) -> bool:
    return not is_one_of(rebind.held, (list, tuple, dict)) or isinstance(rebind.target, ast.Subscript)


def _as_written(rebind: Rebind, code: str) -> ast.expr | None:
    """The update's value, with places within the statement's own text."""
    body = ast.parse(code).body
    pairs = _pairs(body[0]) if body and isinstance(body[0], ast.Assign) else []
    return next((value for target, value in pairs if ast.unparse(target) == rebind.name), None)


def _augmented(node: ast.expr, code: str) -> str:
    sign = _SIGNS.get(type(node.op), "") if isinstance(node, ast.BinOp) else ""
    if not isinstance(node, ast.BinOp) or not sign:
        return ""
    return f"{_text(core_of(node.left), code)} {sign} {_text(node.right, code)}"


def _text(node: ast.expr, code: str) -> str:
    return ast.get_source_segment(code, node) or ast.unparse(node)
