"""Single statements of the user's source: the one at a line, the one that fills an attribute."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_debugger.records import Place
from torch_debugger.source.files import class_source, covers, model_sources, nodes_of, place_at, tree_of
from torch_debugger.source.syntax import FunctionNode, called_name, calls_in, function_in, names_read, nodes_in

if TYPE_CHECKING:
    from torch import nn

_UNWRITTEN = ("empty", "empty_like", "empty_strided", "new_empty")


def statement_at(place: Place) -> str:
    """The text of the innermost statement that covers a line, on one line; empty if unknown."""
    statements = nodes_in(place.file, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)) if place.line else []
    covering = [node for node in statements if covers(node, place.line or 0)]
    if not covering:
        return place.code or ""
    return ast.unparse(max(covering, key=lambda node: node.lineno))


def attribute_place(owner: type, attribute: str) -> Place | None:
    """The line of the owner's class that fills self.<attribute>."""
    for cls in owner.__mro__:
        source = class_source(cls)
        if source is None:
            continue
        lines = [node.lineno for node in ast.walk(source[1]) if isinstance(node, ast.stmt) and _fills(node, attribute)]
        if lines:
            return place_at(source[0], min(lines))
    return None


def _fills(node: ast.stmt, attribute: str) -> bool:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    return any(isinstance(target, ast.Attribute) and target.attr == attribute for target in targets)


def setting_of(file: str, key: str) -> Place | None:
    """The last line of a file that fills something[key], as in group["lr"] = rate or group["lr"] *= 0.5."""
    lines = []
    fills: list[ast.Assign | ast.AugAssign] = [*nodes_in(file, ast.Assign), *nodes_in(file, ast.AugAssign)]
    for node in fills:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            match target:
                case ast.Subscript(slice=ast.Constant(value=value)) if value == key:
                    lines.append(node.lineno)
    return place_at(file, max(lines)) if lines else None


def last_call_before(place: Place, names: tuple[str, ...]) -> Place | None:
    """The last call of one of these functions at or above a line: torch.log, x.log, F.log"""
    tree = tree_of(place.file)
    if tree is None or place.file is None or place.line is None:
        return None
    lines = [call.lineno for call in calls_in(tree, *names) if call.lineno <= place.line]
    return place_at(place.file, max(lines)) if lines else None


def assignment_before(place: Place, name: str) -> Place | None:
    """The last line up to a line, in its function, that makes a variable of something else than itself."""
    tree = tree_of(place.file)
    if tree is None or place.file is None or place.line is None:
        return None
    found = last_assignment(tree, place.line, name)
    return place_at(place.file, found.lineno) if found is not None else None


def last_assignment(tree: ast.AST, line: int, name: str) -> ast.Assign | None:
    found = [
        node
        for node in ast.walk(function_around(tree, line))
        if isinstance(node, ast.Assign)
        and node.lineno <= line
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        and name not in names_read(node.value)
    ]
    return max(found, key=lambda node: node.lineno, default=None)


def has_unwritten_values(place: Place) -> bool:
    """Whether a line uses what `torch.empty` has made and nothing has written to."""
    tree = tree_of(place.file)
    if tree is None or place.line is None:
        return False
    here = [node for node in nodes_of(tree) if getattr(node, "lineno", None) == place.line]
    inner = {id(node.value) for node in here if isinstance(node, ast.Attribute)}  # the first call of a.b().c()
    values: list[ast.AST] = [node for node in here if isinstance(node, ast.Call) and id(node) not in inner]
    for name in {node.id for node in here if isinstance(node, ast.Name)}:
        made = last_assignment(tree, place.line, name)
        if made is not None and not any(_writes(node, name) for node in ast.walk(function_around(tree, place.line))):
            values.append(made.value)
    return any(_is_unwritten(value) for value in values)


def _is_unwritten(value: ast.AST) -> bool:
    """torch.empty(8, 3).to(device), and not torch.empty(8, 3).normal_()"""
    while isinstance(value, ast.Call) and called_name(value) not in _UNWRITTEN:
        if called_name(value).endswith("_") or not isinstance(value.func, ast.Attribute):
            return False
        value = value.func.value
    return isinstance(value, ast.Call)


def _writes(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Subscript(value=ast.Name(id=written), ctx=ast.Store()) | ast.keyword("out", ast.Name(id=written)):
            return written == name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=written), attr=called)):
            return written == name and called.endswith("_")
    return False


def function_around(tree: ast.AST, line: int) -> ast.AST:
    """The innermost function that covers a line, else the whole file."""
    return function_in(tree, line) or tree


def only_call(module: nn.Module, names: tuple[str, ...]) -> Place | None:
    """The one call of these functions in the model's own class, else in all its classes; None if several."""
    own = class_source(type(module))
    for group in ([own] if own is not None else [], model_sources([module])):
        calls = [place_at(file, call.lineno) for file, statement in group for call in calls_in(statement, *names)]
        if calls:
            return calls[0] if len(calls) == 1 else None
    return None


# What stands around a line of a script, inside its function: loops, and the condition it runs under.
@dataclass(frozen=True)
class StatementContext:
    loops: tuple[Place, ...] = ()  # the innermost first
    condition: int = 0  # the line of the innermost one; 0 where there is none


@functools.lru_cache(maxsize=4096)
def surroundings_of(file: str, line: int) -> StatementContext:
    """Looked up once: a script does not change while it runs."""
    tree = tree_of(file)
    if tree is None:
        return StatementContext()
    loops: list[int] = []
    conditions: list[int] = []
    block: list[ast.stmt] = getattr(function_around(tree, line), "body", [])
    while block:
        block = _go_in(block, line, loops, conditions)
    return StatementContext(
        tuple(place_at(file, loop) for loop in reversed(loops)), conditions[-1] if conditions else 0
    )


def in_same_pass(one: Place, later: Place) -> bool:
    """Of two lines of one function: does the first always run before the other, in the same pass of a loop?"""
    tree = tree_of(one.file) if one.file and one.file == later.file else None
    if tree is None or not one.file or not one.line or not later.line or one.line >= later.line:
        return False
    if function_around(tree, one.line) is not function_around(tree, later.line):
        return False
    return surroundings_of(one.file, one.line) == surroundings_of(one.file, later.line)


def innermost_loop(place: Place) -> Place:
    found = surroundings_of(place.file, place.line).loops if place.file and place.line else ()
    return found[0] if found else Place()


def _go_in(block: list[ast.stmt], line: int, loops: list[int], conditions: list[int]) -> list[ast.stmt]:
    """The block inside of this one that holds the line; what is passed on the way is noted."""
    index = next((i for i, each in enumerate(block) if each.lineno <= line <= (each.end_lineno or 0)), None)
    if index is None:
        return []
    conditions += [each.lineno for each in block[:index] if _sends_away(each)]
    around = block[index]
    for part, inner in _blocks(around):
        if not inner or not inner[0].lineno <= line <= (inner[-1].end_lineno or 0):
            continue
        if isinstance(around, (ast.For, ast.AsyncFor, ast.While)) and part == "body":
            loops.append(around.lineno)
        elif part in ("handlers", "cases") or (isinstance(around, ast.If) and not _always_holds(around.test)):
            conditions.append(around.lineno)
        return inner
    return []


def _blocks(statement: ast.stmt) -> list[tuple[str, list[ast.stmt]]]:
    plain = [(part, getattr(statement, part, [])) for part in ("body", "orelse", "finalbody")]
    parts = [("handlers", each.body) for each in getattr(statement, "handlers", [])]
    return plain + parts + [("cases", each.body) for each in getattr(statement, "cases", [])]


def _sends_away(statement: ast.stmt) -> bool:
    """`if step % 50: continue`: what comes behind it does not always run."""
    if not isinstance(statement, ast.If) or _always_holds(statement.test):
        return False
    return any(isinstance(node, (ast.Continue, ast.Return)) for node in ast.walk(statement))


def _always_holds(test: ast.expr) -> bool:
    """In the course of one run: `if writer is not None`, `if rank == 0`, `if __name__ == "__main__"`."""
    match test:
        case ast.Constant():
            return True
        case ast.Compare(ops=[ast.IsNot() | ast.Is()], comparators=[ast.Constant(value=None)]):
            return True
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=0 | "__main__")]):
            return ast.unparse(left).endswith(("rank", "__name__"))
    return False


# Whether a line of a script runs once, again and again or under a condition, as far as its source tells.
_ONCE = ("__init__", "main", "setup", "build")


def is_in_loop(tree: ast.Module, line: int) -> bool:
    loops = [node for node in nodes_of(tree) if isinstance(node, ast.For | ast.While)]
    return any(covers(node, line) and node.lineno < line for node in loops)


def can_repeat(place: Place) -> bool:
    """In a loop, or in a function that somebody may call in one; a constructor runs once."""
    tree = tree_of(place.file)
    if tree is None or place.line is None:
        return False
    function = function_around(tree, place.line)
    called = isinstance(function, FunctionNode) and function.name not in _ONCE
    return called or is_in_loop(tree, place.line)


def condition_around(file: str, line: int) -> Place | None:
    """The innermost if around a line, inside its function; the one around a whole script is none."""
    tree = tree_of(file)
    around = ast.walk(function_around(tree, line)) if tree is not None else ()
    conditions = [node for node in around if isinstance(node, ast.If) and node.lineno < line and covers(node, line)]
    lines = [node.lineno for node in conditions if "__name__" not in ast.unparse(node.test)]
    return place_at(file, max(lines)) if lines else None


# The condition on the rank that a line runs under: what not every rank calls.
_WORDS = ("rank", "is_main", "is_master", "main_process", "is_chief", "process_index")


def condition_on_rank(place: Place) -> Place:
    """The innermost `if` around the line that asks which rank this is; an empty place where there is none."""
    tree = tree_of(place.file)
    if tree is None or not place.file or not place.line:
        return Place()
    lines = [
        node.lineno
        for node in nodes_of(tree)
        if isinstance(node, ast.If | ast.While | ast.IfExp) and covers(node, place.line)
        if any(word in ast.unparse(node.test).lower() for word in _WORDS)
    ]
    return place_at(place.file, max(lines)) if lines else Place()
