"""What a class gives to the attributes of `self`: where its submodules come from."""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from torch_debugger.records import Place
from torch_debugger.source.files import class_source, class_sources, place_at, tree_of
from torch_debugger.source.syntax import FunctionNode, called_name, dotted, methods_of, pairs, targets_of


@functools.lru_cache(maxsize=1024)
def registrations(file: str, statement: ast.ClassDef) -> dict[str, list[Built]]:
    """What the methods of a class give to attributes of `self`, by name; "" for names made in a loop."""
    found: dict[str, list[Built]] = {}
    for method in statement.body:
        own = method.args.args[0].arg if isinstance(method, ast.FunctionDef) and method.args.args else None
        for node in ast.walk(method) if own else ():
            for key, value in _registered(node, f"{own}"):
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
        inside = node if isinstance(node, FunctionNode) else scope
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


def _registered(node: ast.AST, own: str) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(name, value) of `self.name = value`, setattr(self, name, value), self.add_module(name, value)."""
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        for target in targets_of(node):
            for left, value in pairs(target, node.value):
                if isinstance(left, ast.Attribute) and dotted(left.value) == own:
                    yield ast.Constant(left.attr), value
    elif isinstance(node, ast.Call) and len(node.args) >= 2:
        registers = dotted(node.func) in (f"{own}.add_module", f"{own}.register_module")
        if registers or (dotted(node.func) == "setattr" and dotted(node.args[0]) == own):
            yield node.args[-2], node.args[-1]


# Which expressions fill a container of modules: the elements of an nn.Sequential, in order.
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
    if called_name(node) in ("OrderedDict", "dict", "list", "tuple") and isinstance(node, ast.Call):
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
            values += [node.value] * any(dotted(target) == name for target in targets_of(node))
    return values


def _function(built: Built) -> ast.FunctionDef | None:
    """The user's function behind `self._make_layer(...)` or `build(...)`, if its file holds it."""
    name = called_name(built.node)
    for place in (built.owner, tree_of(built.file)):
        for node in ast.iter_child_nodes(place) if place else ():
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node
    return None


def _returned(function: ast.FunctionDef) -> list[ast.expr]:
    return [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]


# A module's running state: an attribute that a method makes anew from its last value and forward reads.
_IN_PLACE = frozenset({"mul_", "add_", "sub_", "div_", "lerp_", "copy_", "addcmul_", "index_copy_", "scatter_add_"})


def running_update(cls: type, attribute: str) -> Place:
    """The line that updates it; an empty place where it is no running state, or not surely one."""
    source = class_source(cls)
    if source is None:
        return Place()
    updates: list[ast.stmt] = []
    for statement in _statements(source[1]):
        if _updates(statement, attribute):
            updates.append(statement)
        elif _fills(statement, attribute):
            return Place()  # reset from outside: the state of one sequence, or of one pass
    if not updates or any(_calls_a_layer(update) for update in updates):
        return Place()
    written = {id(node) for update in updates for node in ast.walk(update)}
    forward = methods_of(source[1]).get("forward")
    reads = [node for node in (ast.walk(forward) if forward is not None else ()) if _is_own(node, attribute)]
    is_read = any(isinstance(node.ctx, ast.Load) and id(node) not in written for node in reads)
    return place_at(source[0], min(update.lineno for update in updates)) if is_read else Place()


def is_filled_later(cls: type, attribute: str) -> bool:
    """Whether a method other than __init__ fills it: then it holds a result of the last pass."""
    sources = class_sources(cls.__mro__)
    return any(_fills(statement, attribute) for _, source in sources for statement in _statements(source))


def _statements(cls: ast.ClassDef) -> Iterator[ast.stmt]:
    """Of all methods but __init__."""
    for method in cls.body:
        if isinstance(method, ast.FunctionDef) and method.name != "__init__":
            for node in ast.walk(method):
                if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr):
                    yield node


def _updates(statement: ast.stmt, attribute: str) -> bool:
    match statement:
        case ast.AugAssign(target=target):
            return _is_own(_base(target), attribute)
        case ast.Assign(targets=[ast.Subscript() as target]):
            return _is_own(_base(target), attribute)
        case ast.Assign(targets=[target], value=value) if _is_own(target, attribute):
            return any(_is_own(part, attribute) for part in ast.walk(value))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr=method))):
            return method in _IN_PLACE and _is_own(_base(target), attribute)
    return False


def _fills(statement: ast.stmt, attribute: str) -> bool:
    return isinstance(statement, ast.Assign) and any(_is_own(target, attribute) for target in statement.targets)


def _base(target: ast.expr) -> ast.expr:
    """self.state of self.state[rows], of self.state.data, and of self.state.mul_(0.9)"""
    while isinstance(target, ast.Subscript) or (isinstance(target, ast.Attribute) and target.attr == "data"):
        target = target.value
    if isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute) and target.func.attr in _IN_PLACE:
        return _base(target.func.value)
    return target


def _is_own(node: ast.AST, attribute: str) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and dotted(node) == f"self.{attribute}"


def _calls_a_layer(statement: ast.stmt) -> bool:
    """self.cell(x, self.state): the hidden state of a recurrent layer, which belongs to its sequence."""
    calls = (dotted(node.func) for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(re.fullmatch(r"self\.\w+", name) for name in calls)
