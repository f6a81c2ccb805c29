"""What pieces of the user's source say: the names in them, the calls, what a statement assigns.

For every room that looks at syntax trees; `files` has the trees themselves, `statements` what stands around a line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeVar

from torch_debugger.source.files import covers, nodes_of, tree_of

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_NestedScope = FunctionNode | ast.ClassDef | ast.Lambda
Node = TypeVar("Node", bound=ast.AST)


def nodes_in(file: str | None, kind: type[Node] | tuple[type[Node], ...]) -> list[Node]:
    """All nodes of a kind in a file; none where there is no source that parses."""
    tree = tree_of(file) if file else None
    return [node for node in nodes_of(tree) if isinstance(node, kind)] if tree is not None else []


def calls_in(node: ast.AST, *names: str) -> list[ast.Call]:
    """The calls in a piece of source in the order in which they stand; of these functions, if some are named."""
    parts = nodes_of(node) if isinstance(node, ast.Module) else ast.walk(node)
    calls = [part for part in parts if isinstance(part, ast.Call) and (not names or called_name(part) in names)]
    return sorted(calls, key=lambda call: (call.lineno, call.col_offset))


def last_name(node: ast.AST | None) -> str:
    """randn of torch.randn, x of x; empty for anything but names and attributes."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def called_name(node: ast.AST | None) -> str:
    """What a call calls, without what it belongs to: randn of torch.randn(3); empty for anything but calls."""
    return last_name(node.func) if isinstance(node, ast.Call) else ""


def called_method(node: ast.AST | None) -> str:
    """step of optimizer.step(); empty for anything else, also for step()."""
    return called_name(node) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def dotted(node: ast.AST) -> str:
    """`self.layers` as text; empty for anything but names and attributes of names."""
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return node.id if isinstance(node, ast.Name) else ""


def names_read(node: ast.AST) -> list[str]:
    """In the order in which they stand, each as often as it is read."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)]
    return [part.id for part in sorted(parts, key=lambda part: (part.lineno, part.col_offset))]


def names_stored(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def targets_of(node: ast.AST) -> list[ast.expr]:
    """What an assignment, a for loop or a with block fills, as it is written; `flat_targets` takes it apart."""
    match node:
        case ast.Assign(targets=targets):
            return targets
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return [target]
        case ast.For(target=target) | ast.AsyncFor(target=target):
            return [target]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [item.optional_vars for item in items if item.optional_vars is not None]
    return []


def flat_targets(node: ast.AST) -> list[ast.expr]:
    """a, self.b and c[0] of `a, (self.b, c[0]) = ...`"""
    return [part for target in targets_of(node) for part in elements_of(target)]


def elements_of(target: ast.expr) -> Iterator[ast.expr]:
    """a, b and c of (a, [b, *c])"""
    if isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from elements_of(element)
    else:
        yield target.value if isinstance(target, ast.Starred) else target


def pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """self.a, self.b = nn.Linear(...), nn.Linear(...) taken apart."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]


def functions_around(tree: ast.AST, line: int) -> list[FunctionNode]:
    """Those that cover a line, the innermost first."""
    around = [node for node in nodes_of(tree) if isinstance(node, FunctionNode) and covers(node, line)]
    return sorted(around, key=lambda node: -node.lineno)


def function_in(tree: ast.AST, line: int) -> FunctionNode | None:
    """The innermost function that covers a line."""
    return next(iter(functions_around(tree, line)), None)


def function_at(file: str | None, line: int) -> FunctionNode | None:
    tree = tree_of(file)
    return function_in(tree, line) if tree is not None else None


def parameters(function: FunctionNode) -> list[str]:
    arguments = function.args
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def argument_of(call: ast.Call, function: FunctionNode, name: str) -> ast.expr | None:
    """What a call passes for a parameter of a function; `self` is not passed."""
    by_keyword = [keyword.value for keyword in call.keywords if keyword.arg == name]
    names = parameters(function)
    position = names.index(name) - (names[0] in ("self", "cls"))
    if by_keyword or not 0 <= position < len(call.args):
        return by_keyword[0] if by_keyword else None
    return call.args[position]


def methods_of(statement: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in statement.body if isinstance(node, ast.FunctionDef)}


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Those of a function, a class or a file, without what is inside of functions and classes in it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, _NestedScope):
            yield from own_nodes(child)


def own_statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """The same, without the statements that begin a function or a class."""
    return (node for node in own_nodes(scope) if isinstance(node, ast.stmt) and not isinstance(node, _NestedScope))
