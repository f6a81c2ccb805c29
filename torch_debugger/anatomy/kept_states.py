"""Where a state that is loaded was taken from a live model, and whether training lies between."""

from __future__ import annotations

import ast
from types import FrameType
from typing import TypeGuard

from torch_debugger.anatomy.containers import dotted
from torch_debugger.anatomy.registrations import assignments, pairs
from torch_debugger.anatomy.sources import called_name, nodes_of, place_at, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.records import Place


def taken_at(frame: FrameType) -> Place:
    """Of load_state_dict(best): the line best = model.state_dict(), if best is never made in another way."""
    file, line = frame.f_code.co_filename, frame.f_lineno
    tree = tree_of(file)
    name = _loaded_name(tree, line) if tree is not None else ""
    if tree is None or not name or _is_filled(tree, name):
        return Place()
    made = [value for node, _ in assignments(tree) for value in _values(node, name)]
    made = [value for value in made if not isinstance(value, ast.Constant)]  # best = None
    live = [value.lineno for value in made if ".state_dict()" in ast.unparse(value)]
    between = [taken for taken in live if _has_training_between(tree, taken, line)]
    return place_at(file, max(between)) if between and len(live) == len(made) else Place()


def is_filled_from_elsewhere(frame: FrameType) -> bool:
    """Of load_state_dict(state): state.update(pretrained), state[key] = value"""
    tree = tree_of(frame.f_code.co_filename)
    name = _loaded_name(tree, frame.f_lineno) if tree is not None else ""
    return tree is not None and bool(name) and _is_filled(tree, name)


def _loaded_name(tree: ast.Module, line: int) -> str:
    loads = [node for node in nodes_of(tree) if _loads_at(node, line)]
    return _last(loads[0].args[0]) if loads else ""


def _loads_at(node: ast.AST, line: int) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call) or not node.args or getattr(node.func, "attr", "") != "load_state_dict":
        return False
    return node.lineno <= line <= (node.end_lineno or line)


def _last(node: ast.AST) -> str:
    """best of self.best and of stopper.best; kept['best'] as it is"""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return f"{_last(node.value)}[{node.slice.value!r}]"
    return dotted(node).rpartition(".")[2]


def _values(node: ast.Assign, name: str) -> list[ast.expr]:
    given = [pair for target in node.targets for pair in pairs(target, node.value)]
    return [value for target, value in given if _last(target) == name]


def _is_filled(tree: ast.Module, name: str) -> bool:
    for node in nodes_of(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="update")) if _last(owner) == name:
                return True
            case ast.Subscript(value=owner, ctx=ast.Store()) if _last(owner) == name:
                return True
    return False


def _has_training_between(tree: ast.Module, taken: int, loaded: int) -> bool:
    """In another function, in a loop that is over before the load, or before a loop with steps in it."""
    function = function_around(tree, loaded)
    if function_around(tree, taken) is not function:
        return True
    loops = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]
    over = [loop for loop in loops if (loop.end_lineno or 0) < loaded]
    return any(loop.lineno < taken <= (loop.end_lineno or 0) for loop in over) or any(
        taken < loop.lineno and _trains(tree, loop) for loop in over
    )


def _trains(tree: ast.Module, loop: ast.AST) -> bool:
    """A step in it, or a call of a function that has one."""
    functions = [node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef)]
    names = {called_name(call) for call in ast.walk(loop) if isinstance(call, ast.Call)}
    inside = [call for each in functions if each.name in names for call in ast.walk(each)]
    return "step" in names | {called_name(call) for call in inside if isinstance(call, ast.Call)}
