"""What a class gives to the attributes of `self`: where its submodules come from."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from torch_debugger.anatomy.containers import Built, dotted


@functools.lru_cache(maxsize=1024)
def registrations(file: str, statement: ast.ClassDef) -> tuple[Built, ...]:
    """Everything the methods of a class give to attributes of `self`, each under its name as key."""
    found: list[Built] = []
    for method in statement.body:
        own = method.args.args[0].arg if isinstance(method, ast.FunctionDef) and method.args.args else None
        for node in ast.walk(method) if own else ():
            for key, value in _given(node, f"{own}"):
                target = f"{own}.{key.value!s}" if isinstance(key, ast.Constant) else None
                found.append(Built(file, value, method, statement, target, key))
    return tuple(found)


def _given(node: ast.AST, own: str) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(name, value) of `self.name = value`, setattr(self, name, value), self.add_module(name, value)."""
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for left, value in _pairs(target, node.value):
                if isinstance(left, ast.Attribute) and dotted(left.value) == own:
                    yield ast.Constant(left.attr), value
    elif isinstance(node, ast.Call) and len(node.args) >= 2:
        registers = dotted(node.func) in (f"{own}.add_module", f"{own}.register_module")
        if registers or (dotted(node.func) == "setattr" and dotted(node.args[0]) == own):
            yield node.args[-2], node.args[-1]


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """self.a, self.b = nn.Linear(...), nn.Linear(...) taken apart."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]
