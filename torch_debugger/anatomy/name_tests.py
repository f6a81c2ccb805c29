"""Loops over named_parameters() that freeze or unfreeze what a test of the name lets through.

    for name, p in model.named_parameters():
        if name.startswith("encoder"):
            p.requires_grad = False

Only tests that are made of the name and of constants are read; they are pure, and so can be asked again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch_debugger.anatomy.repetition import condition_around
from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.records import Place

_METHODS = frozenset({"startswith", "endswith", "split", "lower", "removeprefix", "replace"})
_FUNCTIONS = {"any": any, "all": all, "len": len}
_PLAIN = (
    ast.Expression, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Name,
    ast.Subscript, ast.GeneratorExp, ast.comprehension, ast.boolop, ast.unaryop, ast.cmpop, ast.expr_context,
)  # fmt: skip


@dataclass(frozen=True)
class NameTest:
    place: Place  # the line with the words that are looked for
    text: str  # name.startswith('encoder')
    value: bool  # of requires_grad, where the test is true
    owner: str  # the last word of whose parameters it goes through: model
    variable: str
    code: Any  # compiled
    words: tuple[tuple[str, Any], ...]

    def lets_through(self, name: str) -> bool:
        """As good as true where it cannot be asked."""
        scope = {"__builtins__": _FUNCTIONS, self.variable: name, **dict(self.words)}
        try:
            return bool(eval(self.code, scope))
        except (IndexError, TypeError, ValueError, AttributeError, NameError):
            return True


def name_tests(file: str) -> list[NameTest]:
    """Those that run always: at the top of a file, or in a function that is called outside of any condition."""
    tree = tree_of(file)
    found: list[NameTest] = []
    for loop in nodes_of(tree) if tree is not None else ():
        if tree is not None and isinstance(loop, ast.For) and condition_around(file, loop.lineno) is None:
            found += _tests_of(tree, file, loop)
    return found


def _tests_of(tree: ast.Module, file: str, loop: ast.For) -> Iterator[NameTest]:
    match loop:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=name), ast.Name(id=parameter)]),
            iter=ast.Call(func=ast.Attribute(value=owner, attr="named_parameters"), args=[], keywords=[]),
        ):
            branches = [node for node in loop.body if isinstance(node, ast.If) and _is_pure(node.test, name)]
            for branch in branches:
                values = [_switched(statement, parameter) for statement in branch.body]
                for value in [value for value in values if value is not None][:1]:
                    yield from _asked(tree, file, owner, branch, name, value)


def _asked(
    tree: ast.Module, file: str, owner: ast.expr, branch: ast.If, name: str, value: bool
) -> Iterator[NameTest]:
    code = compile(ast.Expression(branch.test), file, "eval")
    for place, of, words in _uses(tree, file, owner, branch, _free_names(branch.test) - {name}):
        yield NameTest(place, ast.unparse(branch.test), value, _last(of), name, code, tuple(words.items()))


def _switched(statement: ast.stmt, parameter: str) -> bool | None:
    """p.requires_grad = False, p.requires_grad_(False)"""
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=owner), attr="requires_grad")], value=given):
            known = owner == parameter and isinstance(given, ast.Constant)
            return bool(given.value) if known and isinstance(given, ast.Constant) else None
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="requires_grad_"), args=args)
        ) if owner == parameter and all(isinstance(each, ast.Constant) for each in args):
            return all(isinstance(each, ast.Constant) and bool(each.value) for each in args)
    return None


def _is_pure(test: ast.expr, name: str) -> bool:
    return all(_is_plain(node) for node in ast.walk(test)) and name in {
        node.id for node in ast.walk(test) if isinstance(node, ast.Name)
    }


def _is_plain(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return not node.keywords
    if isinstance(node, ast.Attribute):
        return node.attr in _METHODS
    return isinstance(node, _PLAIN)


def _free_names(test: ast.expr) -> set[str]:
    names = [node for node in ast.walk(test) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return {node.id for node in names} - bound - set(_FUNCTIONS)


def _uses(
    tree: ast.Module, file: str, owner: ast.expr, branch: ast.If, free: set[str]
) -> Iterator[tuple[Place, ast.expr, dict[str, Any]]]:
    """The test with its words and its model: written there, or given where the function around it is called."""
    function = function_around(tree, branch.lineno)
    if not isinstance(function, ast.FunctionDef):
        if not free:
            yield place_at(file, branch.lineno), owner, {}
        return
    for call in nodes_of(tree):
        if isinstance(call, ast.Call) and _last(call.func) == function.name:
            given = _given(function, call)
            words = {name: _constant(given[name]) for name in free if name in given}
            known = words.keys() == free and None not in words.values()
            if known and condition_around(file, call.lineno) is None:
                place = place_at(file, call.lineno if free else branch.lineno)
                yield place, given.get(ast.unparse(owner), owner), words


def _given(function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr]:
    names = [argument.arg for argument in function.args.args]
    names = names[1:] if names[:1] == ["self"] else names
    return {**dict(zip(names, call.args, strict=False)), **{k.arg: k.value for k in call.keywords if k.arg}}


def _constant(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _last(node: ast.expr) -> str:
    """model of model and of self.model"""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def bare_comparisons(file: str) -> list[tuple[Place, bool]]:
    """Statements that are nothing but `p.requires_grad == False`, with the value."""
    tree = tree_of(file)
    found: list[tuple[Place, bool]] = []
    for node in nodes_of(tree) if tree is not None else ():
        match node:
            case ast.Expr(
                value=ast.Compare(
                    left=ast.Attribute(attr="requires_grad"), ops=[ast.Eq()], comparators=[ast.Constant(value)]
                )
            ) if isinstance(value, bool):
                found.append((place_at(file, node.lineno), value))
    return found
