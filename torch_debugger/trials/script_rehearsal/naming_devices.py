"""How a line can name the device that its tensor should be made on."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torch_debugger.anatomy.sources import nodes_of, tree_of
from torch_debugger.trials.moves import Function, assignments, function_around, name_of, parameters, targets
from torch_debugger.trials.origin import FrameLine


def device_at(line: FrameLine, asked: str, tensors: Sequence[str] = ()) -> str:
    """What the model is moved to, as far as that is known at this line; else the device of one of the `tensors`
    that are on it; empty where neither is known there."""
    tree = tree_of(line[0])
    if tree is None:
        return ""
    function = function_around(tree, line[1])
    known = _known_at(line[1], tree, function)
    ways = [asked, *(each for each in known if each == "device" or each.endswith(".device"))]
    ways += [f"{name}.device" for name in tensors if name in known and function is not None]
    return next((each for each in ways if _is_meant(each, known)), "")


def _is_meant(text: str, known: set[str]) -> bool:
    root = text.partition(".")[0]
    return bool(text) and (not root.isidentifier() or root in known) and (root != "self" or text in known)


def _known_at(line: int, tree: ast.Module, function: Function | None) -> set[str]:
    """Variables of the file, and what the function has made by then: parameters, variables, its attributes."""
    outside = [
        name_of(target)
        for node in tree.body
        for each in (assignments(node) if not isinstance(node, Function | ast.ClassDef) else ())
        for target in targets(each)
        if isinstance(target, ast.Name) and (function is not None or each.lineno < line)
    ]
    imported = [
        (alias.asname or alias.name).partition(".")[0]
        for node in nodes_of(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    if function is None:
        return {*outside, *imported}
    before = [each for each in assignments(function) if each.lineno < line]
    own = [ast.unparse(each) for one in before for each in targets(one)]
    return {*outside, *imported, *parameters(function), *own}


def attribute_at(file: str, line: int) -> str:
    """self.weights, where this line gives it a value."""
    tree = tree_of(file)
    for node in nodes_of(tree) if tree is not None else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
            continue
        if node.lineno <= line <= (node.end_lineno or line):
            return ast.unparse(node.targets[0])
    return ""
