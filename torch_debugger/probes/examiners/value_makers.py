"""The call that made a value, and what its function returns as its source has it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import is_user_file, place_at, tree_of
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.examiners.reading import UNKNOWN, binding_of, calls_in, value_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place

# Layers of torch's that return more than their output.
SEVERAL = (nn.LSTM, nn.GRU, nn.RNN, nn.LSTMCell, nn.MultiheadAttention)


@dataclass(frozen=True)
class Maker:
    """What is known of the call that made a value; empty where nothing is."""

    place: Place = field(default_factory=Place)
    text: str = ""
    path: str = ""
    kind: str = ""
    returns: str = ""  # nothing | several
    returning: Place = field(default_factory=Place)
    call: ast.Call | None = None
    seen: Seen | None = None
    function: Any = None  # what ran: the forward of a module, or the function itself


def maker_of(scene: Scene, seen: Seen, node: ast.expr) -> Maker:
    """The call that made what an expression stands for: the expression itself, or what its name was given."""
    place, value = place_at(seen.file, node.lineno), node
    if isinstance(node, ast.Name):
        binding = binding_of(seen, node.id)
        if binding is None:
            return _handed_in(scene, seen, node.id)
        place, value = binding.place, binding.value
        if binding.loops:
            return Maker(place, ast.unparse(value), kind="loop")
    if not isinstance(value, ast.Call):
        return Maker(place, ast.unparse(value), kind="expression")
    made_by = value_of(seen, value.func)
    if isinstance(value.func, ast.Call):  # Net()(x): built and called at once
        built = value_of(seen, value.func.func)
        made_by = built.forward if is_a(built, type) and issubclass(built, nn.Module) else made_by
    return _described(scene, made_by, place, value, seen)


def _handed_in(scene: Scene, seen: Seen, name: str) -> Maker:
    """An argument of the function: what the caller's line gave it, through calls of torch's modules."""
    code = seen.frame.f_code
    names = code.co_varnames[: code.co_argcount]
    index = next((place for place, frame in enumerate(scene.frames) if frame is seen), 0)
    outer = next((frame for frame in reversed(scene.frames[:index]) if frame.user), None)
    if name not in names or outer is None:
        return Maker()
    position = names.index(name) - (1 if names[0] == "self" else 0)
    calls = [call for call in calls_in(outer) if len(call.args) > position >= 0]
    return maker_of(scene, outer, calls[0].args[position]) if len(calls) == 1 else Maker()


def maker_before(scene: Scene, layer: nn.Module) -> Maker:
    """The layer of an nn.Sequential that ran before."""
    return _described(scene, layer, Place(), None, None)


def _described(scene: Scene, made_by: Any, place: Place, call: ast.Call | None, seen: Seen | None) -> Maker:
    text = ast.unparse(call) if call is not None else ""
    if issubclass(type(made_by), nn.Module):
        path, kind = scene.paths.get(id(made_by), ""), type(made_by).__name__
        if is_a(made_by, SEVERAL):
            return Maker(place, text, path, kind, "several", call=call, seen=seen)
        forward = getattr(type(made_by), "forward", None)
        return Maker(place, text, path, kind, *_returns(forward), call, seen, forward)
    if is_a(made_by, type):
        return Maker(place, text, "", made_by.__name__, call=call, seen=seen)
    name = getattr(made_by, "__qualname__", "") if made_by is not UNKNOWN else ""
    return Maker(place, text, "", name.removesuffix(".forward"), *_returns(made_by), call, seen, made_by)


def _returns(function: Any) -> tuple[str, Place]:
    """Whether a function of the user's returns nothing at all, or always several values, and where."""
    node = definition_of(function)
    return _returned(function.__code__.co_filename, node) if node is not None else ("", Place())


def definition_of(function: Any) -> ast.FunctionDef | None:
    """The source of a function of the user's."""
    code: Any = getattr(function, "__code__", None)
    tree = tree_of(code.co_filename) if code is not None and is_user_file(code.co_filename) else None
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] if tree else []
    found = [node for node in functions if node.name == code.co_name and _starts(node) == code.co_firstlineno]
    return found[0] if found else None


def _starts(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _returned(file: str, function: ast.FunctionDef) -> tuple[str, Place]:
    nodes = list(_own_nodes(function))
    returns = returned_by(function)
    if not returns and not any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Raise) for node in nodes):
        return "nothing", place_at(file, function.body[-1].end_lineno or function.body[-1].lineno)
    if returns and all(isinstance(value, ast.Tuple) for value in returns):
        return "several", place_at(file, returns[-1].lineno)
    return "", Place()


def returned_by(function: ast.FunctionDef) -> list[ast.expr]:
    """The expressions a function returns, but for None."""
    found = [node.value for node in _own_nodes(function) if isinstance(node, ast.Return)]
    return [value for value in found if value is not None and not _is_none(value)]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield from _own_nodes(child)
