"""A user's autograd.Function that failed: its class, by the frames or the graph, and its two halves."""

from __future__ import annotations

import ast
import dataclasses
import re
from typing import Any

import torch

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import class_source
from torch_debugger.probes.examiners.autograd_scene import backward_roots, graph_of, scopes
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.user_scope import calls_in, statement_place
from torch_debugger.records import Place
from torch_debugger.records.evidence.autograd import CustomFunction

_NAMED = re.compile(r"[Ff]unction (\w+)Backward returned")


def examine_function(scene: Scene, message: str) -> CustomFunction | None:
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


def _from_frames(scene: Scene) -> Any:
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


def _from_variables(scene: Scene, message: str) -> tuple[str, Any]:
    """A variable that holds an object of the class, or the class itself where its forward was called."""
    user = scene.user_frame
    for name, held in list(user.frame.f_locals.items()) if user is not None else ():
        if _is_function(type(held)) and type(held).__name__ in message:
            return name, type(held)
    for name, held in list(user.frame.f_globals.items()) if user is not None else ():
        if _is_function(held) and f"{name}.forward() " in message and user is scene.innermost:
            return "", held
    return "", None


def _assigned(scene: Scene, name: str) -> Place:
    for scope in scopes(scene):
        node = scope.assignment_before(name, scope.line)
        if node is not None:
            return scope.place(node)
    return Place()


def _needed(scene: Scene, cls: Any) -> tuple[bool, ...]:
    for node in (node for root in backward_roots(scene) for node in graph_of(root)):
        if getattr(type(node), "_forward_cls", None) is cls:
            return tuple(bool(item) for item in node.needs_input_grad)
    return ()


def _is_function(value: Any) -> bool:
    return is_a(value, type) and issubclass(value, torch.autograd.Function) and class_source(value) is not None


def _from_graph(scene: Scene, message: str) -> Any:
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
