"""Whether the value of an expression was never put on a device: its names are followed back."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from torch_debugger.trials.moves import (
    DEVICES,
    MOVES,
    Assignment,
    Function,
    assignments,
    calls_a_mover,
    function_around,
    known_names,
    mentions,
    name_of,
    parameters,
    targets,
)

# What these are given are sizes and bounds: where those come from decides nothing.
_MAKERS = frozenset({
    "arange", "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randint", "randn", "randperm",
    "tril_indices", "triu_indices", "zeros",
})  # fmt: skip


@dataclass
class Following:
    """One expression followed through the files of a script."""

    trees: list[ast.Module]  # the file of the expression, then the script itself
    _seen: set[tuple[int, str]] = field(default_factory=set)

    def untouched(self, expression: ast.AST, tree: ast.Module, line: int) -> bool:
        """True only if every value that comes in is known, and none was moved."""
        if mentions(expression, DEVICES | MOVES) or calls_a_mover(expression, tree):
            return False
        around = function_around(tree, line)
        return all(self.name_untouched(name, tree, around) for name in _names(expression))

    def name_untouched(self, name: str, tree: ast.Module, around: Function | None) -> bool:
        if (id(around), name) in self._seen or name in known_names(tree):
            return True
        self._seen.add((id(around), name))
        values = [*_values(name, around if around is not None else tree)]
        if values:
            return all(self.untouched(value, tree, value.lineno) for value in values)
        if around is None:
            return False
        if name in parameters(around):
            return self._argument_untouched(name, around)
        return self.name_untouched(name, tree, None)

    def _argument_untouched(self, name: str, function: Function) -> bool:
        """What the script passes for this parameter of a function, or of a class's `__init__`, in all calls."""
        given = [
            (argument, tree)
            for tree in self.trees
            for call in calls_of(tree, self.trees[0], function)
            if (argument := argument_of(call, function, name)) is not None
        ]
        return bool(given) and all(self.untouched(value, tree, value.lineno) for value, tree in given)


def _names(expression: ast.AST) -> Iterator[str]:
    """The names an expression reads, but for those that only give a size, or that it binds itself."""
    if isinstance(expression, ast.Call) and name_of(expression.func) in _MAKERS:
        return
    if isinstance(expression, ast.Name) and isinstance(expression.ctx, ast.Load):
        yield expression.id
    bound = {name_of(each.target) for each in getattr(expression, "generators", ())}
    for child in ast.iter_child_nodes(expression):
        yield from (name for name in _names(child) if name not in bound)


def _values(name: str, scope: ast.AST) -> Iterator[ast.expr]:
    own = _outside_functions(scope, name) if isinstance(scope, ast.Module) else assignments(scope)
    for assignment in own:
        names = {target.id for target in targets(assignment) if isinstance(target, ast.Name)}
        if name in names and assignment.value is not None:
            yield assignment.value


def _outside_functions(node: ast.AST, name: str) -> Iterator[Assignment]:
    """Of a file's own variable: a function's variable of that name is another one, unless it says `global`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            spoken = [each for each in ast.walk(child) if isinstance(each, ast.Global)]
            yield from assignments(child) if any(name in each.names for each in spoken) else ()
            continue
        if isinstance(child, Assignment):
            yield child
        yield from _outside_functions(child, name)


def calls_of(tree: ast.Module, home: ast.Module, function: Function) -> Iterator[ast.Call]:
    """The calls of a function in this file; of an `__init__` those that make an object of its class."""
    owners = {node.name for node in ast.walk(home) if isinstance(node, ast.ClassDef) and function in node.body}
    names = owners if function.name == "__init__" else {function.name}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in names:
            yield node


def argument_of(call: ast.Call, function: Function, name: str) -> ast.expr | None:
    by_keyword = [keyword.value for keyword in call.keywords if keyword.arg == name]
    own = parameters(function)
    position = own.index(name) - (own[0] in ("self", "cls"))  # these are not passed
    if by_keyword or not 0 <= position < len(call.args):
        return by_keyword[0] if by_keyword else None
    return call.args[position]
