"""The user's own lines of a step as a function that can be run once more.

From a frame at one moment: the statements of the innermost loop around its line (or of its function), up
to the one at that line, with the frame's variables as they were.
"""

from __future__ import annotations

import ast
import contextlib
import copy
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from torch_debugger.source.files import covers, tree_of
from torch_debugger.source.objects import is_one_of
from torch_debugger.source.statements import function_around
from torch_debugger.source.variables import VariablesAt

ONCE_MORE = "once_more"  # the function that such lines become


@dataclass(frozen=True)
class StepStatements:
    """Statements of the user's, up to the one at the moment's line."""

    moment: VariablesAt
    statements: list[ast.stmt]
    in_loop: bool

    def function(self, begin: int, *, bare: bool = False) -> Callable[[], Any] | None:
        """To run them, from the one of that number on. None where that cannot be.

        bare: without calls whose result nobody takes, which are made for what they do besides (a list
        grows, a line is logged), and with copies of the lists and dictionaries among the variables.
        """
        statements = self.statements[begin:]
        if any(isinstance(part, _UNREPEATABLE) for each in statements for part in ast.walk(each)):
            return None
        return _function(statements, self.moment, _Bare() if bare else _Unscoped(), copies=bare)

    def bare(self, begin: int) -> list[ast.stmt]:
        """The statements from that one on, without calls that are made for what they do besides."""
        changed = [_Bare().visit(copy.deepcopy(each)) for each in self.statements[begin:]]
        return [each for each in changed if not isinstance(each, ast.Pass)]

    def beginnings(self) -> list[int]:
        """Where to begin: at the call of a model, at the first line, then at the others."""
        first = self.first_model_call()
        return list(dict.fromkeys([*([] if first is None else [first]), *range(len(self.statements))]))

    def first_model_call(self) -> int | None:
        """The statement with a call whose function, or one of its arguments, is a module or what holds one."""
        variables = self.moment.variables
        for at, statement in enumerate(self.statements):
            for node in ast.walk(statement):
                if isinstance(node, ast.Call) and getattr(node.func, "attr", "") not in _UPKEEP:
                    parts = [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
                    if any(_is_model(part, variables) for part in parts):
                        return at
        return None


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_UNREPEATABLE = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)


def lines_around(moment: VariablesAt) -> list[StepStatements]:
    """Of the innermost loop around its line, then of the loop around that; else of its blocks and function."""
    tree, line = tree_of(moment.file), moment.line
    scope = function_around(tree, line) if tree is not None else None
    if scope is None or isinstance(scope, ast.Module) != (moment.function == "<module>"):
        return []
    loops = [loop.body for loop in _loops(scope) if any(covers(each, line) for each in loop.body)]
    bodies = [*reversed(loops[-2:])] or [*_blocks(scope.body, line), scope.body]  # type: ignore[attr-defined]
    found = []
    for body in bodies:
        end = max((at for at, each in enumerate(body) if covers(each, line)), default=-1)  # a line may hold several
        found.append(StepStatements(moment, body[: end + 1], bool(loops)))
    return found


def _blocks(body: list[ast.stmt], line: int) -> list[list[ast.stmt]]:
    """Outside of loops: the bodies of `with`, `if` and `try` around the line, from the innermost out."""
    around = next((each for each in body if covers(each, line)), None)
    inner = [list(getattr(around, name, [])) for name in ("body", "orelse", "finalbody")]
    for block in inner:
        if not isinstance(around, _SCOPES) and any(covers(each, line) for each in block):
            return [*_blocks(block, line), block]
    return []


def _loops(scope: ast.AST) -> Iterator[ast.For | ast.While]:
    """Outer loops before inner ones; not those of functions inside."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, (ast.For, ast.While)):
            yield node
        yield from _loops(node)


_UPKEEP = ("train", "eval", "zero_grad", "to", "parameters", "named_parameters", "requires_grad_", "state_dict")


def _is_model(node: ast.expr, variables: dict[str, Any]) -> bool:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return False
    value = variables.get(node.id)
    for name in reversed(names):
        if isinstance(value, nn.Module) and not isinstance(value, nn.modules.loss._Loss):
            return True
        attributes = getattr(value, "__dict__", {})
        value = attributes.get(name) if isinstance(attributes, dict) else None
    return isinstance(value, nn.Module) and not isinstance(value, nn.modules.loss._Loss)


def _function(
    statements: list[ast.stmt], moment: VariablesAt, change: ast.NodeTransformer, *, copies: bool
) -> Callable[[], Any]:
    """Wrapped in a loop of one turn, for `continue` and `break`, in a function, for `return`."""
    body = [change.visit(copy.deepcopy(each)) for each in statements]
    written = {
        part.id
        for each in body
        for part in ast.walk(each)
        if isinstance(part, ast.Name) and isinstance(part.ctx, (ast.Store, ast.Del))
    }
    variables = moment.variables
    known = (written | moment.own.keys()) & variables.keys()
    names = sorted(name for name in known if name.isidentifier())  # a comprehension has a `.0`
    once = ast.parse(f"def {ONCE_MORE}({', '.join(names)}):\n    for _turn in (0,):\n        pass")
    once.body[0].body[0].body = body  # type: ignore[attr-defined]
    namespace = dict(variables)
    exec(compile(ast.fix_missing_locations(once), moment.file, "exec"), namespace)
    run: Callable[..., Any] = namespace[ONCE_MORE]
    arguments = {name: variables[name] for name in names}
    if copies:
        arguments |= {name: copy.copy(each) for name, each in arguments.items() if is_one_of(each, _CONTAINERS)}
    return lambda: run(**arguments)


_CONTAINERS = (list, dict, set, deque, defaultdict, Counter)


class _Unscoped(ast.NodeTransformer):
    """Without `global` and `nonlocal`: all the names are parameters here."""

    def visit_Global(self, node: ast.Global) -> ast.Pass:
        return ast.copy_location(ast.Pass(), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.Pass:
        return ast.copy_location(ast.Pass(), node)


class _Bare(_Unscoped):
    """Without the calls that are made only for what they do besides; a backward and x.add_(1) stay."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        function = node.value.func if isinstance(node.value, ast.Call) else None
        name = function.attr if isinstance(function, ast.Attribute) else ""
        if name.endswith("_") or "backward" in ast.unparse(node):
            return node
        return ast.copy_location(ast.Pass(), node)


@contextlib.contextmanager
def replaced(entries: Sequence[tuple[Any, str, Any]]) -> Iterator[None]:
    """Each an owner, the name of its attribute, and what stands in for it."""
    before = [(owner, name, vars(owner)[name]) for owner, name, _ in entries]
    for owner, name, value in entries:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
