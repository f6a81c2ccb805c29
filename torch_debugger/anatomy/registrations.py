"""What a class gives to the attributes of `self`: where its submodules come from."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from torch_debugger.anatomy.containers import Built, dotted


@functools.lru_cache(maxsize=1024)
def registrations(file: str, statement: ast.ClassDef) -> dict[str, list[Built]]:
    """What the methods of a class give to attributes of `self`, by name; "" for names made in a loop."""
    found: dict[str, list[Built]] = {}
    for method in statement.body:
        own = method.args.args[0].arg if isinstance(method, ast.FunctionDef) and method.args.args else None
        for node in ast.walk(method) if own else ():
            for key, value in _given(node, f"{own}"):
                name = str(key.value) if isinstance(key, ast.Constant) else ""
                target = f"{own}.{name}" if name else None
                found.setdefault(name, []).append(Built(file, value, method, statement, target, key))
    return found


@functools.lru_cache(maxsize=256)
def assignments(tree: ast.Module) -> tuple[tuple[ast.Assign, ast.AST], ...]:
    """Every plain assignment of a file, with the function or module whose names it sees."""
    found: list[tuple[ast.Assign, ast.AST]] = []
    waiting: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while waiting:
        node, scope = waiting.pop()
        inside = node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else scope
        for part in ("handlers", "cases", "finalbody", "orelse", "body"):
            waiting += [(child, inside) for child in reversed(getattr(node, part, None) or ())]
        if isinstance(node, ast.Assign):
            found.append((node, scope))
    return tuple(found)


@functools.lru_cache(maxsize=256)
def replacements(file: str, tree: ast.Module) -> dict[tuple[str, str], list[Built]]:
    """What a file gives to attributes of other things than self, by owner and name: model.fc = ..."""
    found: dict[tuple[str, str], list[Built]] = {}
    for node, scope in assignments(tree):
        for target in node.targets:
            owner, _, name = dotted(target).rpartition(".")
            if owner not in ("", "self"):
                made = Built(file, node.value, scope, None, dotted(target))
                found.setdefault((owner.rpartition(".")[2], name), []).append(made)
    return found


def _given(node: ast.AST, own: str) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(name, value) of `self.name = value`, setattr(self, name, value), self.add_module(name, value)."""
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for left, value in pairs(target, node.value):
                if isinstance(left, ast.Attribute) and dotted(left.value) == own:
                    yield ast.Constant(left.attr), value
    elif isinstance(node, ast.Call) and len(node.args) >= 2:
        registers = dotted(node.func) in (f"{own}.add_module", f"{own}.register_module")
        if registers or (dotted(node.func) == "setattr" and dotted(node.args[0]) == own):
            yield node.args[-2], node.args[-1]


def pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """self.a, self.b = nn.Linear(...), nn.Linear(...) taken apart."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]
