"""A user's autograd.Function that failed: its class, by the frames or the graph, and its two halves."""

from __future__ import annotations

import ast
import dataclasses
import re
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.gradcheck import GradcheckError, gradcheck

from torch_debugger.crashes.autograd_graph import backward_roots, graph_of, scopes
from torch_debugger.crashes.expressions import UNKNOWN, value_of
from torch_debugger.crashes.frames import LiveCrash, Seen, is_tensor, walk_traceback
from torch_debugger.crashes.functions import statement_place
from torch_debugger.model.autograd_graph import walk_nodes
from torch_debugger.records import Place
from torch_debugger.records.crash_autograd import CustomFunction
from torch_debugger.source.files import class_source, covers, tree_of
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.statements import function_around
from torch_debugger.source.syntax import calls_in

_NAMED = re.compile(r"[Ff]unction (\w+)Backward returned")


def examine_function(scene: LiveCrash, message: str) -> CustomFunction | None:
    name, cls = _from_variables(scene, message)
    cls = cls or _from_frames(scene) or _from_graph(scene, message)
    source = class_source(cls) if cls is not None else None
    if cls is None or source is None:
        return None
    file, node = source
    methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
    if "forward" not in methods:
        return None
    halves = _halves(cls, file, methods)
    return dataclasses.replace(
        halves, needed=_needed(scene, cls), object=name, object_made=_assigned(scene, name) if name else Place()
    )


def _from_frames(scene: LiveCrash) -> Any:
    """The class whose forward or backward was under way, or was called by the user's line."""
    for seen in reversed(scene.frames):
        for name in ("self", "cls", "ctx"):
            held = seen.frame.f_locals.get(name)
            if _is_function(held):
                return held
            forward = getattr(type(held), "_forward_cls", None) or type(held)
            if _is_function(forward):
                return forward
        if seen.user:
            return None
    return None


def _from_variables(scene: LiveCrash, message: str) -> tuple[str, Any]:
    """A variable that holds an object of the class, or the class itself where its forward was called."""
    user = scene.user_frame
    for name, held in list(user.frame.f_locals.items()) if user is not None else ():
        if _is_function(type(held)) and type(held).__name__ in message:
            return name, type(held)
    for name, held in list(user.frame.f_globals.items()) if user is not None else ():
        if _is_function(held) and f"{name}.forward() " in message and user is scene.innermost:
            return "", held
    return "", None


def _assigned(scene: LiveCrash, name: str) -> Place:
    for scope in scopes(scene):
        node = scope.assignment_before(name, scope.line)
        if node is not None:
            return scope.place(node)
    return Place()


def _needed(scene: LiveCrash, cls: Any) -> tuple[bool, ...]:
    for node in (node for root in backward_roots(scene) for node in graph_of(root)):
        if getattr(type(node), "_forward_cls", None) is cls:
            return tuple(bool(item) for item in node.needs_input_grad)
    return ()


def _is_function(value: Any) -> bool:
    return is_a(value, type) and issubclass(value, torch.autograd.Function) and class_source(value) is not None


def _from_graph(scene: LiveCrash, message: str) -> Any:
    """By the name torch tells; where it tells none, the only one of the graph."""
    told = _NAMED.search(message)
    nodes = [node for root in backward_roots(scene) for node in graph_of(root)]
    classes = dict.fromkeys(getattr(type(node), "_forward_cls", None) for node in nodes)
    found = [cls for cls in classes if cls is not None and (told is None or cls.__name__ == told[1])]
    return found[0] if len(found) == 1 else None


def _halves(cls: Any, file: str, methods: dict[str, ast.FunctionDef]) -> CustomFunction:
    forward, backward = methods["forward"], methods.get("backward") or methods.get("vjp")
    separate = "setup_context" in methods
    saving = methods.get("setup_context", forward)
    saved = [call for call in calls_in(saving) if ast.unparse(call.func).endswith(".save_for_backward")]
    returned = _return_of(backward) if backward is not None else None
    return CustomFunction(
        name=cls.__name__,
        forward=statement_place(file, forward.lineno),
        backward=statement_place(file, backward.lineno) if backward is not None else Place(),
        returned=statement_place(file, returned.lineno) if returned is not None else Place(),
        inputs=_arguments(forward, skip=0 if separate else 1),
        gradients=_parts(returned.value) if returned is not None else (),
        takes=_arguments(backward, skip=1) if backward is not None else (),
        saved=statement_place(file, saved[0].lineno) if saved else Place(),
        saves=tuple(ast.unparse(item) for item in saved[0].args) if saved else (),
        outputs=len(_parts(made.value)) if (made := _return_of(forward)) is not None else 0,
        static=all(_is_static(methods[name]) for name in ("forward", "backward") if name in methods),
    )


def _return_of(function: ast.FunctionDef) -> ast.Return | None:
    """The last return statement with a value."""
    found = [node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    return max(found, key=lambda node: node.lineno, default=None)


def _parts(value: ast.expr | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(ast.unparse(item) for item in (value.elts if isinstance(value, ast.Tuple) else [value]))


def _arguments(function: ast.FunctionDef, skip: int) -> tuple[str, ...]:
    return tuple(item.arg for item in function.args.args)[skip:]


def _is_static(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator) == "staticmethod" for decorator in function.decorator_list)


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
        inside = [seen.frame.f_locals for seen in frames if seen.file.endswith(_FILE)]
        first = next((names for names in inside if "func" in names and "inputs" in names), None)
        results = next((names["func_out"] for names in inside if "func_out" in names), None)
        return _checked(first["func"], first["inputs"], results) if first is not None else None
    own = [seen for seen in frames if seen.user]
    return _asserted(own[-1]) if is_a(error, AssertionError) and own else None


def _asserted(seen: Seen) -> Gradcheck | None:
    """assert gradcheck(f, inputs, raise_exception=False), or the same by way of a variable."""
    tree = tree_of(seen.file)
    if tree is None:
        return None
    nodes = [node for node in ast.walk(function_around(tree, seen.line)) if isinstance(node, (ast.Assert, ast.Assign))]
    asserted = next((node for node in nodes if covers(node, seen.line) and isinstance(node, ast.Assert)), None)
    if asserted is None:
        return None
    names = {node.id for node in ast.walk(asserted.test) if isinstance(node, ast.Name)}
    above = [node for node in nodes if isinstance(node, ast.Assign) and node.lineno < seen.line and _binds(node, names)]
    made = max(above, key=lambda node: node.lineno, default=None)
    for part in (asserted.test, *([made.value] if made is not None else [])):
        for call in ast.walk(part):
            if isinstance(call, ast.Call) and value_of(seen, call.func) is gradcheck:
                return _of_call(seen, call)
    return None


def _binds(node: ast.Assign, names: set[str]) -> bool:
    return any(isinstance(target, ast.Name) and target.id in names for target in node.targets)


def _of_call(seen: Seen, call: ast.Call) -> Gradcheck | None:
    if len(call.args) < 2:
        return None
    target, inputs = call.args[:2]
    called = _function(seen, target)
    given = [value_of(seen, each) for each in inputs.elts] if isinstance(inputs, ast.Tuple) else value_of(seen, inputs)
    if called is UNKNOWN or given is UNKNOWN or (type(given) is list and any(each is UNKNOWN for each in given)):
        return None
    return _checked(called, given, None)


def _function(seen: Seen, target: ast.expr) -> Any:
    """Swish.apply is kept in no dictionary of Swish."""
    if isinstance(target, ast.Attribute) and target.attr == "apply":
        owner = value_of(seen, target.value)
        if isinstance(owner, type) and issubclass(owner, torch.autograd.Function):
            return owner
    return value_of(seen, target)


def _checked(target: Any, inputs: Any, results: Any) -> Gradcheck | None:
    given = tuple(inputs) if is_one_of(inputs, (tuple, list)) else (inputs,)
    owner = getattr(target, "__self__", target)
    if isinstance(owner, type) and issubclass(owner, torch.autograd.Function):
        return Gradcheck(owner, given, owner)
    classes = {kind for kind in _classes_in(results) if class_source(kind) is not None}
    return Gradcheck(target, given, classes.pop() if len(classes) == 1 else None) if callable(target) else None


def _classes_in(results: Any) -> list[type[torch.autograd.Function]]:
    several = results if is_one_of(results, (tuple, list)) else (results,)
    roots = [each.grad_fn for each in several if is_tensor(each) and each.grad_fn is not None]
    nodes = [node for root in roots for node in walk_nodes(root, _NODES)[0]]
    return [node._forward_cls for node in nodes if hasattr(node, "_forward_cls")]
