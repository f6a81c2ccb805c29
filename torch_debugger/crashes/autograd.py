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
    autograd_argument,
    backward_roots,
    cuts_in,
    graph_of,
    leaves_of,
    name_of,
    named_parameters,
)
from torch_debugger.crashes.autograd_inplace import examine_overwritten, loss_made, owners_of, writes_in
from torch_debugger.crashes.frames import LiveCrash, describe, is_tensor, statement_place
from torch_debugger.crashes.functions import Scope, scopes
from torch_debugger.records import LocalTensor, Place
from torch_debugger.records.crash_autograd import AutogradEvidence, Differentiated, RefusedTensor
from torch_debugger.source.constructors import constructor_places
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.statements import attribute_place
from torch_debugger.source.syntax import calls_in, names_read

_KINDS = (RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError)
_OVERWRITTEN = "modified by an inplace operation"
_FREED = "backward through the graph a second time"
_NO_GRAPH = "does not require grad and does not have a grad_fn"
_NO_METHOD = "'float' object has no attribute 'backward'"
_NO_INPUT = "differentiated Tensor"  # one of them, or the one at an index


def examine_autograd(crash: LiveCrash) -> AutogradEvidence | None:
    if not is_one_of(crash.error, _KINDS) or _is_raised_by_the_user(crash):
        return None
    message = str(crash.error)
    roots = backward_roots(crash)
    function = examine_function(crash, message)
    refused = examine_refused(crash, message)
    missed = isinstance(crash.error, TypeError | AttributeError) and "NoneType" in message
    rebound = examine_rebound(crash, missed) if missed or _NO_GRAPH in message else ()
    cut = examine_cut(crash) if _NO_GRAPH in message or message == _NO_METHOD else None
    if not roots and function is None and refused is None and cut is None and not rebound:
        return None
    return AutogradEvidence(
        roots=tuple(fact for root in roots[:4] if (fact := describe(name_of(crash, root), root)) is not None),
        root_made=loss_made(crash),
        criterion=_unreduced(crash) if roots and roots[0].dim() else Place(),
        overwritten=examine_overwritten(crash, message) if _OVERWRITTEN in message else None,
        freed=examine_freed(crash) if _FREED in message else None,
        cut=None if rebound else cut,
        rebound=rebound,
        differentiated=examine_differentiated(crash) if _NO_INPUT in message else None,
        function=function,
        refused=refused,
    )


def _is_raised_by_the_user(crash: LiveCrash) -> bool:
    last = crash.innermost
    if last is None or not last.user:
        return last is None
    statement = next((node for node in scopes(crash)[0].statements() if node.lineno == last.line), None)
    return isinstance(statement, ast.Raise)


def _unreduced(crash: LiveCrash) -> Place:
    """The constructor of the loss with reduction='none' that the statement making the loss calls."""
    made = next(iter(ast.parse(loss_made(crash).code or "").body), None)
    value = ast.unparse(made.value) if isinstance(made, ast.Assign) else ""
    for scope in scopes(crash):
        for call in calls_in(scope.function):
            module = scope.resolve(call.func) if ast.unparse(call) == value else None
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


def examine_refused(crash: LiveCrash, message: str) -> RefusedTensor | None:
    last, user = crash.innermost, scopes(crash)
    if last is None or not user:
        return None
    if last.function in _FRAMES and not last.user:
        name, operation = _FRAMES[last.function]
        value: Any = last.locals.get(name)
        return _in_line(user[0], value, operation) if is_tensor(value) else None
    if any(part in message for part in _WRITING):
        for write in (write for node in user[0].on_line() for write in writes_in(node)):
            for owner in owners_of(write.target):
                text, value = ast.unparse(owner), user[0].resolve(owner)
                if is_tensor(value):
                    return _refusal(value, text, "write", user[0].assigned_at(text))
        return None
    return _to_numpy(user[0]) if "numpy() on Tensor that requires grad" in message else None


def _refusal(value: Any, name: str, operation: str, made: Place, holder: str = "") -> RefusedTensor | None:
    fact = describe(name, value)
    if fact is None:
        return None
    return RefusedTensor(fact, operation, holder, made, bool(value.is_inference()), value._base is not None)


def _to_numpy(scope: Scope) -> RefusedTensor | None:
    """The operand of `.numpy()`: a variable that requires grad, or something made of one."""
    for call in (call for node in scope.on_line() for call in calls_in(node)):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "numpy":
            continue
        written = ast.unparse(call.func.value)
        for owner in owners_of(call.func.value):
            value = scope.resolve(owner)
            if is_tensor(value) and value.requires_grad:
                return _refusal(value, written, "numpy", scope.assigned_at(ast.unparse(owner)))
            module = scope.resolve(owner.func) if isinstance(owner, ast.Call) else None
            if is_a(module, nn.Module) and any(item.requires_grad for item in module.parameters()):
                return RefusedTensor(LocalTensor(written, (), "", "", True, is_leaf=False), "numpy")
    return None


def _in_line(scope: Scope, value: torch.Tensor, operation: str) -> RefusedTensor | None:
    """By the expression of the user's line that is the tensor, or holds it."""
    nodes = (part for node in scope.on_line() for part in ast.walk(node) if isinstance(part, ast.expr))
    for part in nodes:
        text, item = ast.unparse(part), scope.resolve(part)
        if item is value:
            return _refusal(value, text, operation, scope.assigned_at(text))
        if is_one_of(item, (list, tuple, dict)) and _contains(item, value):
            return _refusal(value, "", operation, _filled(scope, text), text)
        kept = _kept_by(item, value) if is_a(item, nn.Module) else None
        if kept is not None:
            return _refusal(value, f"{text}.{kept[0]}", operation, kept[1], f"{text}.{kept[0]}")
    return _refusal(value, "", operation, Place())


def _contains(container: Any, value: Any) -> bool:
    items = container.values() if type(container) is dict else container
    return any(item is value or (is_one_of(item, (list, tuple, dict)) and _contains(item, value)) for item in items)


def _filled(scope: Scope, name: str) -> Place:
    """The statement that appends to a list, or that assigns into a dict, else the one that makes it."""
    for node in scope.statements():
        calls = [ast.unparse(call.func) for call in calls_in(node)] if not hasattr(node, "body") else []
        if f"{name}.append" in calls:
            return scope.place(node)
    return scope.assigned_at(name)


def _kept_by(module: nn.Module, value: Any) -> tuple[str, Place] | None:
    """The attribute of a module that holds the tensor, and the line that fills it."""
    for path, part in module.named_modules():
        for name, attribute in list(vars(part).items()):
            if attribute is value:
                place = attribute_place(type(part), name) or Place()
                whole = statement_place(place.file, place.line, path) if place.file and place.line else place
                return f"{path}.{name}".lstrip("."), whole
    return None


# Which input of autograd.grad has no gradient, and why: it asked for none, or the outputs never saw it.
_DEPTH = 6
_CUTS = ("detach", "data", "tensor", "numpy", "item")


def examine_differentiated(crash: LiveCrash) -> Differentiated | None:
    roots, around = backward_roots(crash), scopes(crash)
    inputs = autograd_argument(crash, {"backward": "inputs", "grad": "inputs"})
    refused = next((item for item in inputs if _has_no_gradient(item, roots)), None)
    if refused is None or not roots or not around:
        return None
    frozen = next((name for name, item in named_parameters(crash) if item is refused), "")
    name, output = frozen or name_of(crash, refused), name_of(crash, roots[0])
    if frozen and not refused.requires_grad:
        return Differentiated("frozen", frozen, output, Place())
    return _Search(around[0], name, output).cause(refused) if name else None


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
        around = [node for node in calls_in(scope.function) if node.lineno <= scope.line]
        calls = [node for node in around if ast.unparse(node.func).rpartition(".")[2] in ("grad", "backward")]
        arguments = (
            [word.value for word in calls[-1].keywords if word.arg == "outputs"] or calls[-1].args if calls else []
        )
        written = arguments[0] if arguments else None
        self.output = output or (ast.unparse(written) if written is not None else "the outputs")
        self.made = scope.assignment_before(output, scope.line) if output else None
        self.start: ast.AST | None = self.made if self.made is not None else written

    def cause(self, tensor: torch.Tensor) -> Differentiated | None:
        reads = self._readers(self.start, _DEPTH)
        line = self.made.lineno if self.made is not None else self.scope.line
        maker = self.scope.assignment_before(self.name, line)
        if not tensor.requires_grad:
            if not reads or (maker is not None and maker.lineno > line):
                return None
            return self._because("plain" if tensor.is_floating_point() or tensor.is_complex() else "integer", maker)
        between = [node for node in self.scope.statements() if line < node.lineno < self.scope.line]
        prefixes = (f"{self.name}.requires_grad_(", f"{self.name}.requires_grad = True")
        late = [node for node in between if ast.unparse(node).startswith(prefixes)]
        if late:  # x.requires_grad_(True) below the line that used x
            return self._because("late", late[-1])
        again = [node for node in between if node in self.scope.assignments(self.name)]
        if again:  # x = x.clone() below the line that used x
            return self._because("remade", again[-1])
        return self._cut(reads) or self._because("unused", maker)

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

    def _cut(self, readers: list[ast.AST]) -> Differentiated | None:
        for reader in readers:
            for cut in cuts_in(reader):
                if cut.reason in _CUTS and self.name in names_read(cut.inner):
                    return self._because("cut", reader, ast.unparse(cut.node))
        return None

    def _because(self, reason: str, node: ast.AST | None, text: str = "") -> Differentiated:
        return Differentiated(reason, self.name, self.output, self.scope.place(node), self.scope.place(self.made), text)
