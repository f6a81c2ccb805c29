"""Which expressions fill a container of modules: the elements of an nn.Sequential, in order."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.anatomy.sources import tree_of

FILLERS = {"append": 0, "extend": 0, "insert": 1, "add_module": 1, "register_module": 1}
_DEPTH = 8  # how many names and functions are followed before giving up


@dataclass(frozen=True)
class Built:
    """An expression that makes a module, and what is needed to follow the names in it."""

    file: str
    node: ast.expr
    scope: ast.AST  # the function or module its names live in
    owner: ast.ClassDef | None = None
    target: str | None = None  # the name it is given: layers, self.layers
    key: ast.expr | None = None  # its name inside the container: "conv1", f"block{i}"
    repeated: bool = False  # in a loop or a comprehension: one expression, many modules


def call_name(node: ast.AST) -> str:
    """The last part of a call's function: nn.Linear(...) -> Linear; empty for other expressions."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def dotted(node: ast.AST) -> str:
    """`self.layers` as text; empty for anything but names and attributes of names."""
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return node.id if isinstance(node, ast.Name) else ""


def elements(built: Built, depth: int = _DEPTH) -> list[Built]:
    """What a container expression puts into it, in order: its arguments, then what is appended."""
    found: list[Built] = []
    built = dataclasses.replace(built, key=None)
    if not depth:
        return found
    if isinstance(built.node, ast.Call):
        body = _function(built)
        if body is not None:
            inside = dataclasses.replace(built, scope=body, target=None)
            for result in _returned(body):
                found += elements(dataclasses.replace(inside, node=result), depth - 1)
        else:
            found += [item for part in built.node.args for item in _items(part, built, depth)]
    elif isinstance(built.node, ast.Name):
        name = built.node.id
        for value in assigned(built.scope, name):
            found += elements(dataclasses.replace(built, node=value, target=name), depth - 1)
    return found + (_appended(built, built.target, depth) if built.target else [])


def _items(node: ast.expr, built: Built, depth: int) -> list[Built]:
    """The modules one argument stands for: itself, or the elements of a list, dict, comprehension."""

    def make(expr: ast.expr, key: ast.expr | None = built.key, repeated: bool = False) -> Built:
        return dataclasses.replace(built, node=expr, target=None, key=key, repeated=repeated)

    if isinstance(node, ast.Starred):
        return _items(node.value, built, depth)
    if isinstance(node, ast.Tuple) and len(node.elts) == 2 and _is_text(node.elts[0]):
        return [make(node.elts[1], key=node.elts[0])]
    if isinstance(node, ast.List | ast.Tuple):
        return [item for part in node.elts for item in _items(part, built, depth)]
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return [dataclasses.replace(item, repeated=True) for item in _items(node.elt, built, depth)]
    if isinstance(node, ast.Dict):
        return [make(value, key=key) for key, value in zip(node.keys, node.values, strict=True)]
    if isinstance(node, ast.DictComp):
        return [make(node.value, key=node.key, repeated=True)]
    if isinstance(node, ast.BinOp):
        repeated = isinstance(node.op, ast.Mult)
        both = _items(node.left, built, depth) + ([] if repeated else _items(node.right, built, depth))
        return [dataclasses.replace(item, repeated=item.repeated or repeated) for item in both]
    if isinstance(node, ast.Name) and depth and (values := assigned(built.scope, node.id)):
        filled = [item for value in values for item in _items(value, built, depth - 1)]
        return filled + _appended(built, node.id, depth - 1)
    if call_name(node) in ("OrderedDict", "dict", "list", "tuple") and isinstance(node, ast.Call):
        keyed = [make(word.value, key=ast.Constant(word.arg)) for word in node.keywords if word.arg]
        return [item for part in node.args for item in _items(part, built, depth)] + keyed
    return [make(node)]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _appended(built: Built, target: str, depth: int) -> list[Built]:
    """What later statements add: `layers.append(...)`, `layers += [...]`, `layers["a"] = ...`."""
    where = built.owner if target.startswith("self.") and built.owner else built.scope
    found: list[Built] = []
    for node, looped in _in_loops(where):
        for value, key in _added(node, target):
            for item in _items(value, dataclasses.replace(built, key=key), depth):
                found.append(dataclasses.replace(item, repeated=item.repeated or looped))
    return found


def _added(node: ast.AST, target: str) -> list[tuple[ast.expr, ast.expr | None]]:
    if isinstance(node, ast.AugAssign) and dotted(node.target) == target:
        return [(node.value, None)]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        same = dotted(node.targets[0].value) == target
        return [(node.value, node.targets[0].slice)] if same else []
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return []
    position = FILLERS.get(node.func.attr)
    if position is None or len(node.args) <= position or dotted(node.func.value) != target:
        return []
    return [(node.args[position], node.args[0] if "module" in node.func.attr else None)]


def _in_loops(node: ast.AST, looped: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        inside = looped or isinstance(child, ast.For | ast.While)
        yield child, inside
        yield from _in_loops(child, inside)


def assigned(scope: ast.AST, name: str) -> list[ast.expr]:
    """The values a scope assigns to a name: layers, self.layers."""
    values = []
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            values += [node.value] * any(dotted(target) == name for target in targets)
    return values


def _function(built: Built) -> ast.FunctionDef | None:
    """The user's function behind `self._make_layer(...)` or `build(...)`, if its file holds it."""
    name = call_name(built.node)
    for place in (built.owner, tree_of(built.file)):
        for node in ast.iter_child_nodes(place) if place else ():
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node
    return None


def _returned(function: ast.FunctionDef) -> list[ast.expr]:
    return [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
