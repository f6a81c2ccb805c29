"""The one call that makes a module of the user's class, and what its arguments meant there."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from typing import Any

from torch_debugger.anatomy.containers import call_name
from torch_debugger.anatomy.sources import class_source, is_user_file, nodes_of, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.probes.examiners.scene import Scene

_PLAIN = (
    ast.Expression, ast.Name, ast.Attribute, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop,
    ast.Load, ast.Tuple, ast.List, ast.Subscript,
)  # fmt: skip


def given_to(call: ast.Call, kind: type) -> dict[str, ast.expr] | None:
    code = getattr(vars(kind).get("__init__"), "__code__", None)
    if code is None or any(isinstance(each, ast.Starred) for each in call.args):
        return None
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    if len(call.args) > len(names) or any(word.arg not in names for word in call.keywords):
        return None
    given = dict(zip(names, call.args, strict=False))
    return given | {word.arg: word.value for word in call.keywords if word.arg is not None}


def only_call(scene: Scene, kind: type) -> tuple[str, ast.Call] | None:
    source = class_source(kind)
    files = {seen.file for seen in scene.frames if seen.user} | ({source[0]} if source else set())
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    files |= {main} if isinstance(main, str) and is_user_file(main) else set()
    found = [
        (file, node)
        for file in sorted(files)
        for node in nodes_of(tree_of(file) or ast.Module([], []))
        if isinstance(node, ast.Call) and call_name(node) == kind.__name__
    ]
    return found[0] if len(found) == 1 else None


def variables_at(scene: Scene, file: str, call: ast.Call, depth: int = 4) -> dict[str, Any] | None:
    """What the names in this call meant: of a frame that still stands, of the file, or of a constructor."""
    tree = tree_of(file)
    scope = function_around(tree, call.lineno) if tree is not None else None
    frames = [seen.frame for seen in scene.frames if seen.file == file]
    known = dict(frames[0].f_globals) if frames else _globals(file)
    if scope is tree:
        return known
    name = getattr(scope, "name", "")
    running = [frame for frame in frames if frame.f_code.co_name == name]
    if running:
        return known | dict(running[-1].f_locals)
    owner = next(
        (each for each in nodes_of(tree) if isinstance(each, ast.ClassDef) and scope in each.body), None
    )
    kind = known.get(owner.name) if owner is not None and tree is not None and name == "__init__" else None
    made = only_call(scene, kind) if isinstance(kind, type) and depth else None
    outside = variables_at(scene, *made, depth - 1) if made is not None else None
    given = given_to(made[1], kind) if made is not None and isinstance(kind, type) else None
    values = values_of(given, outside) if given is not None and outside is not None else None
    return known | values if values is not None else None


def _globals(file: str) -> dict[str, Any]:
    modules = (each for each in list(sys.modules.values()) if getattr(each, "__file__", None) == file)
    return dict(vars(next(modules, object)))


def values_of(given: Mapping[str, ast.expr], variables: Mapping[str, Any]) -> dict[str, Any] | None:
    """None where one of them cannot be told: a variable of a comprehension, the result of a call."""
    try:
        return {name: _value(node, variables) for name, node in given.items()}
    except (LookupError, NameError, AttributeError, TypeError, ArithmeticError):
        return None


def _value(node: ast.expr, variables: Mapping[str, Any]) -> Any:
    """Of names, attributes, numbers and sums of them; nothing of the user's is called."""
    if not all(isinstance(part, _PLAIN) for part in ast.walk(node)):
        raise LookupError(ast.unparse(node))
    return eval(compile(ast.Expression(node), "<argument>", "eval"), {"__builtins__": {}}, dict(variables))
