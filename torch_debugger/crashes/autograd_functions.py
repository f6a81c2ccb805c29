"""A user's autograd.Function that failed: its class, by the frames or the graph, and its two halves."""

from __future__ import annotations

import ast
import dataclasses
import re
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.gradcheck import GradcheckError, gradcheck

from torch_debugger.crashes.autograd_graph import graph_of_loss
from torch_debugger.crashes.expressions import UNKNOWN, statement_node, value_of
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, is_tensor, statement_place, walk_traceback
from torch_debugger.crashes.functions import Scope, scopes
from torch_debugger.model.autograd_graph import walk_nodes
from torch_debugger.records import Place
from torch_debugger.records.crash_autograd import CustomFunction
from torch_debugger.source.files import class_source
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.syntax import calls_in

_NAMED = re.compile(r"[Ff]unction (\w+)Backward returned")


def examine_function(crash: LiveCrash, message: str) -> CustomFunction | None:
    name, cls = _from_variables(crash, message)
    cls = cls or _from_frames(crash) or _from_graph(crash, message)
    source = class_source(cls) if cls is not None else None
    methods = {item.name: item for item in source[1].body if isinstance(item, ast.FunctionDef)} if source else {}
    if source is None or "forward" not in methods:
        return None
    nodes = (node for node in graph_of_loss(crash) if getattr(type(node), "_forward_cls", None) is cls)
    needed = next((tuple(bool(item) for item in node.needs_input_grad) for node in nodes), ())
    made = (scope.assigned_at(name) for scope in scopes(crash) if name and scope.assignments(name))
    return dataclasses.replace(
        _halves(cls, source[0], methods), needed=needed, object=name, object_made=next(made, Place())
    )


def _from_frames(crash: LiveCrash) -> Any:
    """The class whose forward or backward was under way, or was called by the user's line."""
    for seen in reversed(crash.frames):
        for name in ("self", "cls", "ctx"):
            candidate = seen.locals.get(name)
            if _is_function(candidate):
                return candidate
            forward = getattr(type(candidate), "_forward_cls", None) or type(candidate)
            if _is_function(forward):
                return forward
        if seen.user:
            return None
    return None


def _from_variables(crash: LiveCrash, message: str) -> tuple[str, Any]:
    """A variable that holds an object of the class, or the class itself where its forward was called."""
    user = crash.user_frame
    for name, value in list(user.locals.items()) if user is not None else ():
        if _is_function(type(value)) and type(value).__name__ in message:
            return name, type(value)
    for name, value in list(user.frame.f_globals.items()) if user is not None else ():
        if _is_function(value) and f"{name}.forward() " in message and user is crash.innermost:
            return "", value
    return "", None


def _is_function(value: Any) -> bool:
    return is_a(value, type) and issubclass(value, torch.autograd.Function) and class_source(value) is not None


def _from_graph(crash: LiveCrash, message: str) -> Any:
    """By the name torch tells; where it tells none, the only one of the graph."""
    named = _NAMED.search(message)
    classes = dict.fromkeys(getattr(type(node), "_forward_cls", None) for node in graph_of_loss(crash))
    found = [cls for cls in classes if cls is not None and (named is None or cls.__name__ == named[1])]
    return found[0] if len(found) == 1 else None


def _halves(cls: Any, file: str, methods: dict[str, ast.FunctionDef]) -> CustomFunction:
    forward, backward = methods["forward"], methods.get("backward") or methods.get("vjp")
    takes_context = 0 if "setup_context" in methods else 1
    saving = methods.get("setup_context", forward)
    saved = [call for call in calls_in(saving) if ast.unparse(call.func).endswith(".save_for_backward")]
    returned = _return_of(backward) if backward is not None else None
    return CustomFunction(
        name=cls.__name__,
        forward=statement_place(file, forward.lineno),
        backward=statement_place(file, backward.lineno) if backward is not None else Place(),
        returned=statement_place(file, returned.lineno) if returned is not None else Place(),
        inputs=tuple(item.arg for item in forward.args.args)[takes_context:],
        gradients=_parts(returned.value) if returned is not None else (),
        takes=tuple(item.arg for item in backward.args.args)[1:] if backward is not None else (),
        saved=statement_place(file, saved[0].lineno) if saved else Place(),
        saves=tuple(ast.unparse(item) for item in saved[0].args) if saved else (),
        outputs=len(_parts(made.value)) if (made := _return_of(forward)) is not None else 0,
        static=all(
            any(ast.unparse(decorator) == "staticmethod" for decorator in methods[name].decorator_list)
            for name in ("forward", "backward")
            if name in methods
        ),
    )


def _return_of(function: ast.FunctionDef) -> ast.Return | None:
    """The last return statement with a value."""
    found = [node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    return max(found, key=lambda node: node.lineno, default=None)


def _parts(value: ast.expr | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(ast.unparse(item) for item in (value.elts if isinstance(value, ast.Tuple) else [value]))


# A gradcheck of the script's own that failed and ended it: what was checked, on which inputs.
_FILE = "torch/autograd/gradcheck.py"
_NODES = 256


@dataclass(frozen=True)
class Gradcheck:
    target: Any  # a Function of the user's own, or whatever else was checked
    inputs: tuple[Any, ...]
    function: type[torch.autograd.Function] | None  # the only one of the user's own in it


def failed_gradcheck(error: BaseException) -> Gradcheck | None:
    """Of a GradcheckError, or of an assert on what gradcheck has returned."""
    frames = walk_traceback(error.__traceback__)
    if is_a(error, GradcheckError):
        inside = [seen.locals for seen in frames if seen.file.endswith(_FILE)]
        first = next((names for names in inside if "func" in names and "inputs" in names), None)
        results = next((names["func_out"] for names in inside if "func_out" in names), None)
        return _checked(first["func"], first["inputs"], results) if first is not None else None
    own = [seen for seen in frames if seen.user]
    return _asserted(own[-1]) if is_a(error, AssertionError) and own else None


def _asserted(seen: LiveFrame) -> Gradcheck | None:
    """assert gradcheck(f, inputs, raise_exception=False), or the same by way of a variable."""
    asserted = statement_node(seen)
    if not isinstance(asserted, ast.Assert):
        return None
    names = {node.id for node in ast.walk(asserted.test) if isinstance(node, ast.Name)}
    made = [
        node for node in Scope(seen).statements()
        if isinstance(node, ast.Assign) and node.lineno < seen.line
        and any(isinstance(target, ast.Name) and target.id in names for target in node.targets)
    ]  # fmt: skip
    for part in (asserted.test, *(node.value for node in made[-1:])):
        for call in ast.walk(part):
            if isinstance(call, ast.Call) and value_of(seen, call.func) is gradcheck:
                return _of_gradcheck(seen, call)
    return None


def _of_gradcheck(seen: LiveFrame, call: ast.Call) -> Gradcheck | None:
    if len(call.args) < 2:
        return None
    target, inputs = call.args[:2]
    checked = value_of(seen, target)
    if isinstance(target, ast.Attribute) and target.attr == "apply":  # Swish.apply is kept in no dictionary of Swish
        owner = value_of(seen, target.value)
        if isinstance(owner, type) and issubclass(owner, torch.autograd.Function):
            checked = owner
    values = [value_of(seen, each) for each in inputs.elts] if isinstance(inputs, ast.Tuple) else value_of(seen, inputs)
    if checked is UNKNOWN or values is UNKNOWN or (type(values) is list and any(each is UNKNOWN for each in values)):
        return None
    return _checked(checked, values, None)


def _checked(target: Any, inputs: Any, results: Any) -> Gradcheck | None:
    arguments = tuple(inputs) if is_one_of(inputs, (tuple, list)) else (inputs,)
    owner = getattr(target, "__self__", target)
    if isinstance(owner, type) and issubclass(owner, torch.autograd.Function):
        return Gradcheck(owner, arguments, owner)
    several = results if is_one_of(results, (tuple, list)) else (results,)
    roots = [each.grad_fn for each in several if is_tensor(each) and each.grad_fn is not None]
    nodes = [node for root in roots for node in walk_nodes(root, _NODES)[0] if hasattr(node, "_forward_cls")]
    classes = {node._forward_cls for node in nodes if class_source(node._forward_cls) is not None}
    return Gradcheck(target, arguments, classes.pop() if len(classes) == 1 else None) if callable(target) else None
