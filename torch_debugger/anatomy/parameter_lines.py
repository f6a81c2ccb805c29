"""The line that puts another parameter, or a new layer, in the place of one that was there."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from types import FrameType

from torch import nn

from torch_debugger.anatomy.containers import dotted
from torch_debugger.anatomy.frames import locals_of, place_of
from torch_debugger.anatomy.kinds import classes_of, is_a, name_of_class
from torch_debugger.anatomy.line_surroundings import innermost_loop, surroundings_of
from torch_debugger.anatomy.sources import covers, nodes_of, place_at, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.records import Place

_BUILDERS = frozenset({"__init__", "setup", "build", "reset_parameters", "configure_model"})


def parameter_line(name: str, model: nn.Module, files: tuple[str, ...], frame: FrameType | None) -> Place:
    """Of head.weight: `anything.weight = nn.Parameter(...)`, else `anything.head = nn.Linear(...)`.

    Only lines that may run again and again; the frame is that of backward().
    """
    path, modules = name.split("."), dict(model.named_modules())
    for depth in range(len(path) - 1, -1, -1):
        attribute, owner = path[depth], path[depth - 1] if depth else ""
        holder = modules.get(".".join(path[:depth]))
        found = [
            place_at(file, node.lineno)
            for file in files
            if (tree := tree_of(file)) is not None
            for node in _replacing(tree)
            for target in node.targets
            if isinstance(target, ast.Attribute) and target.attr == attribute and _may_be(target.value, owner)
            if depth < len(path) - 1 or _makes_parameter(node.value)
            if not _is_of_another(target.value, node, tree, holder, frame)
            if _may_repeat(file, node, tree, place_of(frame))
        ]
        if found:
            return found[-1]
    return Place()


def _may_repeat(file: str, node: ast.Assign, tree: ast.Module, backward: Place) -> bool:
    """Not in the pass of a loop that has backward() in it, unless this line has one as well."""
    around = function_around(tree, node.lineno)
    if surroundings_of(file, node.lineno).loops:
        return True
    if file == backward.file and around is function_around(tree, backward.line or 0):
        return not innermost_loop(backward)
    return around is not tree


def _is_of_another(
    part: ast.expr, node: ast.Assign, tree: ast.Module, holder: nn.Module | None, frame: FrameType | None
) -> bool:
    """By the class around `self`, or by the variable that the frame has under this name."""
    if isinstance(part, ast.Name) and part.id == "self":
        around = [
            each for each in nodes_of(tree) if isinstance(each, ast.ClassDef) and covers(each, node.lineno)
        ]
        return bool(around) and not any(each.name in _class_names(holder) for each in around)
    if frame is None or tree_of(frame.f_code.co_filename) is not tree or _varies(part, tree):
        return False
    names = {**frame.f_globals, **locals_of(frame)}
    first, *rest = dotted(part).split(".")
    module = names.get(first)
    for attribute in rest:
        module = vars(module).get("_modules", {}).get(attribute) if is_a(module, nn.Module) else None
    return is_a(module, nn.Module) and module is not holder


def _varies(part: ast.expr, tree: ast.Module) -> bool:
    """The variable of a loop has had other values."""
    first = dotted(part).partition(".")[0]
    loops = (node.target for node in nodes_of(tree) if isinstance(node, (ast.For, ast.comprehension)))
    return any(isinstance(each, ast.Name) and each.id == first for target in loops for each in ast.walk(target))


def _class_names(module: object) -> set[str]:
    return {name_of_class(kind) for kind in classes_of(type(module))}


@functools.lru_cache(maxsize=64)
def _replacing(tree: ast.Module) -> tuple[ast.Assign, ...]:
    """Assignments of the result of a call, outside of what builds a module."""
    return tuple(
        node for node in _outside_builders(tree) if isinstance(node, ast.Assign) and _calls(node.value)
    )


def _outside_builders(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.FunctionDef) and child.name in _BUILDERS):
            yield child
            yield from _outside_builders(child)


def _may_be(part: ast.expr, owner: str) -> bool:
    """A variable may be any module; an attribute says which."""
    return not isinstance(part, ast.Attribute) or part.attr == owner


def _calls(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) for node in nodes_of(value))


def _makes_parameter(value: ast.expr) -> bool:
    calls = [node for node in nodes_of(value) if isinstance(node, ast.Call)]
    return any(dotted(call.func).rpartition(".")[2] == "Parameter" for call in calls)
