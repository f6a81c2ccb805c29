"""What the autograd graph, version counters and a replay tell about a crash in backward."""

from __future__ import annotations

import ast
from typing import Any

import torch
from torch import nn

from torch_debugger.crashes.autograd_backward_twice import examine_freed
from torch_debugger.crashes.autograd_detached import examine_cut, examine_rebound
from torch_debugger.crashes.autograd_functions import examine_function
from torch_debugger.crashes.autograd_graph import (
    backward_roots,
    cuts_in,
    graph_of,
    leaves_of,
    name_of,
    named_parameters,
    scopes,
)
from torch_debugger.crashes.autograd_inplace import examine_overwritten, loss_made, owners_of, writes_in
from torch_debugger.crashes.frames import LiveCrash, describe, is_tensor
from torch_debugger.crashes.functions import Scope, statement_place
from torch_debugger.records import LocalTensor, Place
from torch_debugger.records.crash_autograd import AutogradEvidence, Differentiated, RefusedTensor
from torch_debugger.source.constructors import constructor_places
from torch_debugger.source.files import covers
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.statements import attribute_place
from torch_debugger.source.syntax import calls_in, names_read

_KINDS = (RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError)
_OVERWRITTEN = "modified by an inplace operation"
_FREED = "backward through the graph a second time"
_NO_GRAPH = "does not require grad and does not have a grad_fn"
_NO_METHOD = "'float' object has no attribute 'backward'"
_NO_INPUT = "differentiated Tensor"  # one of them, or the one at an index


def examine_autograd(scene: LiveCrash) -> AutogradEvidence | None:
    if not is_one_of(scene.error, _KINDS) or _is_raised_by_the_user(scene):
        return None
    message = str(scene.error)
    roots = backward_roots(scene)
    function = examine_function(scene, message)
    refused = examine_refused(scene, message)
    missed = isinstance(scene.error, TypeError | AttributeError) and "NoneType" in message
    rebound = examine_rebound(scene, missed) if missed or _NO_GRAPH in message else ()
    cut = examine_cut(scene) if _NO_GRAPH in message or message == _NO_METHOD else None
    if not roots and function is None and refused is None and cut is None and not rebound:
        return None
    return AutogradEvidence(
        roots=tuple(fact for root in roots[:4] if (fact := describe(name_of(scene, root), root)) is not None),
        root_made=loss_made(scene),
        criterion=_unreduced(scene) if roots and roots[0].dim() else Place(),
        overwritten=examine_overwritten(scene, message) if _OVERWRITTEN in message else None,
        freed=examine_freed(scene) if _FREED in message else None,
        cut=None if rebound else cut,
        rebound=rebound,
        differentiated=examine_differentiated(scene) if _NO_INPUT in message else None,
        function=function,
        refused=refused,
    )


def _is_raised_by_the_user(scene: LiveCrash) -> bool:
    last = scene.innermost
    if last is None or not last.user:
        return last is None
    statement = next((node for node in scopes(scene)[0].statements() if node.lineno == last.line), None)
    return isinstance(statement, ast.Raise)


def _value(made: Place) -> str:
    """What a statement assigns, as ast.unparse writes it."""
    tree = ast.parse(made.code or "")
    node = tree.body[0] if tree.body else None
    return ast.unparse(node.value) if isinstance(node, ast.Assign) else ""


def _unreduced(scene: LiveCrash) -> Place:
    """The constructor of the loss with reduction='none' that the statement making the loss calls."""
    for scope in scopes(scene):
        made = loss_made(scene)
        for call in calls_in(scope.function):
            module = scope.held(call.func) if ast.unparse(call) == _value(made) else None
            if is_a(module, nn.Module) and getattr(module, "reduction", "") == "none":
                name = ast.unparse(call.func)
                return constructor_places(module, name, [scope.file]).get(name, Place())
    return Place()


# A tensor that torch would not write into, turn into an array, copy, or send to another process.
_FRAMES = {  # torch's function that refuses: the tensor's name in it, and what was asked
    "__array__": ("self", "numpy"),
    "__deepcopy__": ("self", "deepcopy"),
    "reduce_tensor": ("tensor", "process"),
}
_WRITING = (
    "is being used in an in-place operation",
    "is a view and is being modified inplace",
    "view was created in no_grad mode and is being modified inplace",
    "Inplace update to inference tensor",
)


def examine_refused(scene: LiveCrash, message: str) -> RefusedTensor | None:
    last, user = scene.innermost, scopes(scene)
    if last is None or not user:
        return None
    if last.function in _FRAMES and not last.user:
        name, asked = _FRAMES[last.function]
        return _told(user[0], last.frame.f_locals.get(name), asked)
    if any(part in message for part in _WRITING):
        return _written(user[0])
    return _to_numpy(user[0]) if "numpy() on Tensor that requires grad" in message else None


def _statement(scope: Scope) -> list[ast.stmt]:
    return [node for node in scope.statements() if covers(node, scope.line) and not hasattr(node, "body")]


def _written(scope: Scope) -> RefusedTensor | None:
    for write in (write for node in _statement(scope) for write in writes_in(node)):
        for owner in owners_of(write.target):
            value = scope.held(owner)
            if is_tensor(value):
                return _made(value, ast.unparse(owner), "write", _assigned(scope, owner))
    return None


def _assigned(scope: Scope, node: ast.expr) -> Place:
    made = scope.assignment_before(ast.unparse(node), scope.line)
    return scope.place(made) if made is not None else Place()


def _made(value: Any, name: str, asked: str, made: Place, holder: str = "") -> RefusedTensor | None:
    fact = describe(name, value)
    if fact is None:
        return None
    return RefusedTensor(fact, asked, holder, made, bool(value.is_inference()), value._base is not None)


def _to_numpy(scope: Scope) -> RefusedTensor | None:
    """The operand of `.numpy()`: a variable that requires grad, or something made of one."""
    for call in (call for node in _statement(scope) for call in calls_in(node)):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "numpy":
            continue
        for owner in owners_of(call.func.value):
            value = scope.held(owner)
            if is_tensor(value) and value.requires_grad:
                return _made(value, ast.unparse(call.func.value), "numpy", _assigned(scope, owner))
            if isinstance(owner, ast.Call) and _is_trained(scope.held(owner.func)):
                fact = LocalTensor(ast.unparse(call.func.value), (), "", "", True, is_leaf=False)
                return RefusedTensor(fact, "numpy")
    return None


def _is_trained(module: Any) -> bool:
    return is_a(module, nn.Module) and any(item.requires_grad for item in module.parameters())


def _told(scope: Scope, value: Any, asked: str) -> RefusedTensor | None:
    """By the expression of the user's line that is the tensor, or holds it."""
    if not is_tensor(value):
        return None
    for node in _statement(scope):
        for part in (part for part in ast.walk(node) if isinstance(part, ast.expr)):
            held = scope.held(part)
            if held is value:
                return _made(value, ast.unparse(part), asked, _assigned(scope, part))
            if is_one_of(held, (list, tuple, dict)) and _holds(held, value):
                return _made(value, "", asked, _filled(scope, ast.unparse(part)), ast.unparse(part))
            if issubclass(type(held), nn.Module):
                kept = _kept_by(held, value)
                if kept is not None:
                    path = f"{ast.unparse(part)}.{kept[0]}"
                    return _made(value, path, asked, kept[1], path)
    return _made(value, "", asked, Place())


def _holds(held: Any, value: Any) -> bool:
    items = held.values() if type(held) is dict else held
    return any(item is value or (is_one_of(item, (list, tuple, dict)) and _holds(item, value)) for item in items)


def _filled(scope: Scope, name: str) -> Place:
    """The statement that appends to a list, or that assigns into a dict, else the one that makes it."""
    for node in scope.statements():
        calls = [ast.unparse(call.func) for call in calls_in(node)] if not hasattr(node, "body") else []
        if f"{name}.append" in calls:
            return scope.place(node)
    return _assigned(scope, ast.parse(name, mode="eval").body)


def _kept_by(module: nn.Module, value: Any) -> tuple[str, Place] | None:
    """The attribute of a module that holds the tensor, and the line that fills it."""
    for path, part in module.named_modules():
        for name, held in list(vars(part).items()):
            if held is value:
                place = attribute_place(type(part), name) or Place()
                whole = statement_place(place.file, place.line, path) if place.file and place.line else place
                return f"{path}.{name}".lstrip("."), whole
    return None


# Which input of autograd.grad has no gradient, and why: it asked for none, or the outputs never saw it.
_DEPTH = 6
_CUTS = ("detach", "data", "tensor", "numpy", "item")


def examine_differentiated(scene: LiveCrash) -> Differentiated | None:
    roots, around = backward_roots(scene), scopes(scene)
    odd = next((item for item in _inputs(scene) if _has_no_gradient(item, roots)), None)
    if odd is None or not roots or not around:
        return None
    frozen = next((name for name, item in named_parameters(scene) if item is odd), "")
    name, output = frozen or name_of(scene, odd), name_of(scene, roots[0])
    if frozen and not odd.requires_grad:
        return Differentiated("frozen", frozen, output, Place())
    return _Search(around[0], name, output).cause(odd) if name else None


def _inputs(scene: LiveCrash) -> list[torch.Tensor]:
    """What autograd.grad was asked for; empty for other calls."""
    for seen in reversed(scene.frames):
        if seen.file.endswith("autograd/__init__.py") and seen.function in ("grad", "backward"):
            held = seen.frame.f_locals.get("inputs")
            parts = held if isinstance(held, tuple | list) else (held,)
            return [part for part in parts if is_tensor(part)]
    return []


def _has_no_gradient(item: torch.Tensor, roots: list[torch.Tensor]) -> bool:
    if not item.requires_grad or any(item is root for root in roots):
        return not item.requires_grad
    if item.grad_fn is not None:
        return not any(item.grad_fn in graph_of(root) for root in roots)
    return not any(leaf is item for root in roots for leaf in leaves_of(root))


class _Search:
    """The user's lines between an input and the output it is asked for."""

    def __init__(self, scope: Scope, name: str, output: str) -> None:
        self.scope, self.name = scope, name
        call = self._call()
        written = _outputs(call)
        self.output = output or (ast.unparse(written) if written is not None else "the outputs")
        self.made = scope.assignment_before(output, scope.line) if output else None
        self.start: ast.AST | None = self.made if self.made is not None else written

    def _call(self) -> ast.Call | None:
        calls = calls_in(self.scope.function, "grad", "backward")
        return next((call for call in reversed(calls) if call.lineno <= self.scope.line), None)

    def cause(self, odd: torch.Tensor) -> Differentiated | None:
        reads = self._readers(self.start, _DEPTH)
        line = self.made.lineno if self.made is not None else self.scope.line
        if not odd.requires_grad:
            return self._plain(odd, bool(reads), line)
        return self._late(line) or self._remade(line) or self._cut(reads) or self._told("unused", self._maker(line))

    def _plain(self, odd: torch.Tensor, reads: bool, line: int) -> Differentiated | None:
        maker = self._maker(line)
        if not reads or (maker is not None and maker.lineno > line):
            return None
        return self._told("plain" if odd.is_floating_point() or odd.is_complex() else "integer", maker)

    def _maker(self, line: int) -> ast.stmt | None:
        return self.scope.assignment_before(self.name, line)

    def _readers(self, node: ast.AST | None, depth: int) -> list[ast.AST]:
        """The statements on the way to the output that read the input."""
        if node is None or not depth:
            return []
        value = getattr(node, "value", None) if isinstance(node, ast.stmt) else node
        names = list(dict.fromkeys(names_read(value))) if isinstance(value, ast.AST) else []
        found: list[ast.AST] = [node] if self.name in names else []
        for name in names:
            made = self.scope.assignment_before(name, getattr(node, "lineno", 0)) if name != self.name else None
            if made is not None and made.lineno < getattr(node, "lineno", 0):
                found += self._readers(made, depth - 1)
        return found

    def _late(self, line: int) -> Differentiated | None:
        """x.requires_grad_(True) below the line that used x"""
        asked = (f"{self.name}.requires_grad_(", f"{self.name}.requires_grad = True")
        late = [node for node in self._between(line) if ast.unparse(node).startswith(asked)]
        return self._told("late", late[-1]) if late else None

    def _remade(self, line: int) -> Differentiated | None:
        """x = x.clone() below the line that used x"""
        again = [node for node in self._between(line) if node in self.scope.assignments(self.name)]
        return self._told("remade", again[-1]) if again else None

    def _between(self, line: int) -> list[ast.stmt]:
        return [node for node in self.scope.statements() if line < node.lineno < self.scope.line]

    def _cut(self, readers: list[ast.AST]) -> Differentiated | None:
        for reader in readers:
            for cut in cuts_in(reader):
                if cut.reason in _CUTS and self.name in names_read(cut.inner):
                    return self._told("cut", reader, ast.unparse(cut.node))
        return None

    def _told(self, reason: str, node: ast.AST | None, text: str = "") -> Differentiated:
        place, made = self.scope.place_of(node), self.scope.place_of(self.made)
        return Differentiated(reason, self.name, self.output, place, made, text)


def _outputs(call: ast.Call | None) -> ast.expr | None:
    """The expression that is differentiated."""
    named = [word.value for word in call.keywords if word.arg == "outputs"] if call is not None else []
    return next(iter(named or (call.args if call is not None else ())), None)
