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
    binding_of,
    calls_on_line,
    computed_or_none,
    resolve,
    value_of,
)
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, statement_place
from torch_debugger.records import Place
from torch_debugger.source.files import covers, is_user_file, nodes_of, place_at, tree_of
from torch_debugger.source.objects import is_a
from torch_debugger.source.statements import function_around
from torch_debugger.source.syntax import calls_in, flat_targets, own_nodes, own_statements

LOOPS = (ast.For, ast.While, ast.AsyncFor)
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Scope:
    """The innermost function around a frame's line, or the whole file at its top level."""

    def __init__(self, seen: LiveFrame) -> None:
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

    def resolve(self, node: ast.expr) -> Any:
        """The very object a name, an attribute or an entry stands for now; None where that is not known."""
        return resolve(node, self.seen)

    def on_line(self) -> list[ast.stmt]:
        """The plain statements on the frame's line."""
        return [node for node in self.statements() if covers(node, self.line) and not hasattr(node, "body")]

    def value(self, node: ast.expr) -> Any:
        """As `resolve`, and what plain methods make of it, without a graph: batch[0].float()"""
        return computed_or_none(node, self.seen)

    def named(self, name: str) -> Any:
        return self.seen.named(name)

    def place(self, node: ast.AST | None) -> Place:
        return statement_place(self.file, getattr(node, "lineno", self.line)) if node is not None else Place()

    def assigned_at(self, name: str) -> Place:
        """The last assignment above the frame's line."""
        return self.place(self.assignment_before(name, self.line))


def scopes(crash: LiveCrash) -> list[Scope]:
    """The user's functions under way, the innermost first."""
    return [Scope(seen) for seen in crash.user_frames]


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
class MakingCall:
    """What is known of the call that made a value; empty where nothing is."""

    place: Place = field(default_factory=Place)
    text: str = ""
    path: str = ""
    kind: str = ""
    returns: str = ""  # nothing | several
    returning: Place = field(default_factory=Place)
    call: ast.Call | None = None
    seen: LiveFrame | None = None
    function: Any = None  # what ran: the forward of a module, or the function itself


def maker_of(crash: LiveCrash, seen: LiveFrame, node: ast.expr) -> MakingCall:
    """The call that made what an expression stands for: the expression itself, or what its name was given."""
    place, value = place_at(seen.file, node.lineno), node
    if isinstance(node, ast.Name):
        binding = binding_of(seen, node.id)
        if binding is None:
            return _handed_in(crash, seen, node.id)
        place, value = binding.place, binding.value
        if binding.loops:
            return MakingCall(place, ast.unparse(value), kind="loop")
    if not isinstance(value, ast.Call):
        return MakingCall(place, ast.unparse(value), kind="expression")
    made_by = value_of(seen, value.func)
    if isinstance(value.func, ast.Call):  # Net()(x): built and called at once
        built = value_of(seen, value.func.func)
        made_by = built.forward if is_a(built, type) and issubclass(built, nn.Module) else made_by
    return _described(crash, made_by, place, value, seen)


def _handed_in(crash: LiveCrash, seen: LiveFrame, name: str) -> MakingCall:
    """An argument of the function: what the caller's line gave it, through calls of torch's modules."""
    code = seen.frame.f_code
    names = code.co_varnames[: code.co_argcount]
    index = next((place for place, frame in enumerate(crash.frames) if frame is seen), 0)
    outer = next((frame for frame in reversed(crash.frames[:index]) if frame.user), None)
    if name not in names or outer is None:
        return MakingCall()
    position = names.index(name) - (1 if names[0] == "self" else 0)
    calls = [call for call in calls_on_line(outer) if len(call.args) > position >= 0]
    return maker_of(crash, outer, calls[0].args[position]) if len(calls) == 1 else MakingCall()


def maker_before(crash: LiveCrash, layer: nn.Module) -> MakingCall:
    """The layer of an nn.Sequential that ran before."""
    return _described(crash, layer, Place(), None, None)


def _described(
    crash: LiveCrash, made_by: Any, place: Place, call: ast.Call | None, seen: LiveFrame | None
) -> MakingCall:
    text = ast.unparse(call) if call is not None else ""
    path, function, returns = "", made_by, ("", Place())
    if is_a(made_by, nn.Module):
        path, kind = crash.paths.get(id(made_by), ""), type(made_by).__name__
        if is_a(made_by, SEVERAL):
            function, returns = None, ("several", Place())
        else:
            function = getattr(type(made_by), "forward", None)
            returns = _returns(function)
    elif is_a(made_by, type):
        kind, function = made_by.__name__, None
    else:
        kind = (getattr(made_by, "__qualname__", "") if made_by is not UNKNOWN else "").removesuffix(".forward")
        returns = _returns(made_by)
    return MakingCall(place, text, path, kind, *returns, call, seen, function)


def _returns(function: Any) -> tuple[str, Place]:
    """Whether a function of the user's returns nothing at all, or always several values, and where."""
    definition = definition_of(function)
    if definition is None:
        return "", Place()
    file, returned = function.__code__.co_filename, returned_by(definition)
    others = (ast.Yield, ast.YieldFrom, ast.Raise)
    if not returned and not any(isinstance(node, others) for node in own_nodes(definition)):
        return "nothing", place_at(file, definition.body[-1].end_lineno or definition.body[-1].lineno)
    if returned and all(isinstance(value, ast.Tuple) for value in returned):
        return "several", place_at(file, returned[-1].lineno)
    return "", Place()


def definition_of(function: Any) -> ast.FunctionDef | None:
    """The source of a function of the user's."""
    code: Any = getattr(function, "__code__", None)
    tree = tree_of(code.co_filename) if code is not None and is_user_file(code.co_filename) else None
    for node in nodes_of(tree) if tree is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def returned_by(function: ast.FunctionDef) -> list[ast.expr]:
    """The expressions a function returns, but for None."""
    found = [node.value for node in own_nodes(function) if isinstance(node, ast.Return)]
    return [value for value in found if not is_none(value) and value is not None]


def is_none(node: ast.expr | None) -> bool:
    """Of a `return`: nothing, or the word None."""
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


# Where the user's files call a function: the files that a traceback goes through, and the script itself.
def user_files(frames: Iterable[LiveFrame]) -> list[str]:
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


def aliases_of(frames: Iterable[LiveFrame], value: object) -> set[str]:
    """The names under which the user's frames know an object: DDP for DistributedDataParallel."""
    users = [seen for seen in frames if seen.user]
    spaces = [names for seen in users for names in (seen.frame.f_globals, seen.locals)]
    return {name for names in spaces for name, item in list(names.items()) if item is value}
