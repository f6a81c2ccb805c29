"""A function of the user's as source and as living frame: its statements, and what its names stand for."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from torch_debugger.crashes.expressions import (
    UNKNOWN,
    UnknownValueError,
    binding_of,
    calls_on_line,
    computed_value,
    value_of,
)
from torch_debugger.crashes.frames import LiveCrash, Seen, attribute, statement_at
from torch_debugger.records import Place
from torch_debugger.source.files import covers, is_user_file, place_at, tree_of
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.statements import function_around
from torch_debugger.source.syntax import calls_in, flat_targets, nodes_in, own_nodes, own_statements

LOOPS = (ast.For, ast.While, ast.AsyncFor)
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Scope:
    """The innermost function around a frame's line, or the whole file at its top level."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.file, self.line = seen.file, seen.line
        tree = tree_of(seen.file)
        self.function: ast.AST = function_around(tree, seen.line) if tree is not None else ast.Module([], [])

    @staticmethod
    def of_tree(tree: ast.Module) -> list[ast.stmt]:
        """The statements of a file outside of its functions, those included that begin a function or class."""
        return sorted([*own_statements(tree), *(n for n in tree.body if is_a(n, _NESTED))], key=lambda n: n.lineno)

    def statements(self) -> list[ast.stmt]:
        """All of them in the order of their lines; those of functions defined inside are not its own."""
        return sorted(own_statements(self.function), key=lambda node: node.lineno)

    def loops(self) -> Sequence[ast.stmt]:
        """The loops around the frame's line, the innermost first."""
        around = [node for node in self.statements() if isinstance(node, LOOPS) and covers(node, self.line)]
        return around[::-1]

    def assignments(self, name: str) -> list[ast.stmt]:
        return [node for node in self.statements() if name in assigned(node)]

    def assignment_before(self, name: str, line: int) -> ast.stmt | None:
        """The last one that starts above a line; in a loop, one below it may be the one that ran last."""
        found = self.assignments(name)
        above = [node for node in found if node.lineno < line]
        return above[-1] if above else found[-1] if found else None

    def held(self, node: ast.expr) -> Any:
        """The very object a name, an attribute or an entry stands for now; None where that is not known."""
        if isinstance(node, ast.Name):
            return self.named(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.held(node.value)
            return attribute(owner, node.attr) if owner is not None else None
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return _entry(self.held(node.value), node.slice.value)
        return None

    def value(self, node: ast.expr) -> Any:
        """As `held`, and what plain methods make of it, without a graph: batch[0].float()"""
        try:
            return computed_value(node, self.seen.frame)
        except UnknownValueError:
            return None

    def named(self, name: str) -> Any:
        return self.seen.frame.f_locals.get(name, self.seen.frame.f_globals.get(name))

    def place_of(self, node: ast.AST | None) -> Place:
        return self.place(node) if node is not None else Place()

    def place(self, node: ast.AST, module: str | None = None) -> Place:
        return statement_place(self.file, getattr(node, "lineno", self.line), module)


def _entry(owner: Any, key: Any) -> Any:
    if is_one_of(owner, (list, tuple)) and type(key) is int:
        return owner[key] if -len(owner) <= key < len(owner) else None
    if issubclass(type(owner), nn.Module):  # a Sequential's children
        return attribute(owner, str(key))
    return owner.get(key) if type(owner) is dict and is_one_of(key, (str, int)) else None


def statement_place(file: str, line: int, module: str | None = None) -> Place:
    """A line, with the code of the whole statement it belongs to."""
    start, code = statement_at(file, line)
    return Place(file, start, module, code or None)


def assigned(node: ast.stmt) -> list[str]:
    """The plain names and dotted attributes a statement binds."""
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For):
        return []
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return []
    return [ast.unparse(part) for part in flat_targets(node) if isinstance(part, ast.Name | ast.Attribute)]


# The call that made a value, and what its function returns as its source has it.

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


def maker_of(scene: LiveCrash, seen: Seen, node: ast.expr) -> Maker:
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


def _handed_in(scene: LiveCrash, seen: Seen, name: str) -> Maker:
    """An argument of the function: what the caller's line gave it, through calls of torch's modules."""
    code = seen.frame.f_code
    names = code.co_varnames[: code.co_argcount]
    index = next((place for place, frame in enumerate(scene.frames) if frame is seen), 0)
    outer = next((frame for frame in reversed(scene.frames[:index]) if frame.user), None)
    if name not in names or outer is None:
        return Maker()
    position = names.index(name) - (1 if names[0] == "self" else 0)
    calls = [call for call in calls_on_line(outer) if len(call.args) > position >= 0]
    return maker_of(scene, outer, calls[0].args[position]) if len(calls) == 1 else Maker()


def maker_before(scene: LiveCrash, layer: nn.Module) -> Maker:
    """The layer of an nn.Sequential that ran before."""
    return _described(scene, layer, Place(), None, None)


def _described(scene: LiveCrash, made_by: Any, place: Place, call: ast.Call | None, seen: Seen | None) -> Maker:
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
    if code is None or not is_user_file(code.co_filename):
        return None
    for node in nodes_in(code.co_filename, ast.FunctionDef):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        if node.name == code.co_name and first == code.co_firstlineno:
            return node
    return None


def _returned(file: str, function: ast.FunctionDef) -> tuple[str, Place]:
    nodes = list(own_nodes(function))
    returns = returned_by(function)
    if not returns and not any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Raise) for node in nodes):
        return "nothing", place_at(file, function.body[-1].end_lineno or function.body[-1].lineno)
    if returns and all(isinstance(value, ast.Tuple) for value in returns):
        return "several", place_at(file, returns[-1].lineno)
    return "", Place()


def returned_by(function: ast.FunctionDef) -> list[ast.expr]:
    """The expressions a function returns, but for None."""
    found = [node.value for node in own_nodes(function) if isinstance(node, ast.Return)]
    return [value for value in found if value is not None and not _is_none(value)]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


# Where the user's files call a function: the files that a traceback goes through, and the script itself.
def user_files(frames: Iterable[Seen]) -> list[str]:
    """The innermost first."""
    files = {seen.file: None for seen in reversed(list(frames)) if seen.user}
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if is_a(script, str) and is_user_file(script):
        files[script] = None
    return list(files)


def calls_in_files(files: Iterable[str], *names: str) -> Iterator[tuple[Place, ast.Call]]:
    """The calls of functions whose last name is one of these: dist.init_process_group(...)"""
    for file in files:
        tree = tree_of(file)
        for call in calls_in(tree, *names) if tree is not None else ():
            yield place_at(file, call.lineno), call


def aliases_of(frames: Iterable[Seen], value: object) -> set[str]:
    """The names under which the user's frames know an object: DDP for DistributedDataParallel."""
    known: set[str] = set()
    for seen in frames:
        if seen.user:
            known |= {name for name, held in list(seen.frame.f_globals.items()) if held is value}
            known |= {name for name, held in list(seen.frame.f_locals.items()) if held is value}
    return known
