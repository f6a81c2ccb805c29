"""Two arrays that belong together in the user's source, of which a line puts one into another order.

`rng.shuffle(x)` or `x = x[torch.randperm(len(x))]`, where `x[i:j]` and `y[i:j]` are read side by side and
`y` keeps its order, or gets one of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.anatomy.sources import called_name, nodes_of, place_at, tree_of
from torch_debugger.records import Place

_ORDERS = ("randperm", "permutation")
_SEEDING = ("seed", "manual_seed", "set_state", "setstate", "set_rng_state", "RandomState", "default_rng")
_COPIES = ("copy", "clone", "deepcopy", "list")
_PAIRING = ("zip", "TensorDataset", "train_test_split")
_Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


@dataclass(frozen=True)
class Shuffled:
    """One array that was put into an order of its own, and the one that it belongs to."""

    first: str  # x
    second: str  # y
    both: bool  # each got an order of its own; else only the first did
    place: Place  # the line that shuffles, or reads the second
    index: str = ""  # the first is read with this shuffled index, and the second is not


@dataclass(frozen=True)
class _Order:
    name: str
    line: int
    key: str  # the same for two arrays: they have the same order


def shuffled_apart(file: str) -> list[Shuffled]:
    tree = tree_of(file)
    scopes = [node for node in nodes_of(tree) if isinstance(node, _Scope)] if tree is not None else []
    return [found for scope in scopes for found in _judge(file, scope)]


def _judge(file: str, scope: _Scope) -> Iterator[Shuffled]:
    parts = list(_own(scope))
    yield from _read_apart(file, parts)
    orders = [order for part in parts for order in _orders(part, parts)]
    if not orders or _seeds_between(parts, orders):
        return
    in_class = isinstance(scope, ast.ClassDef)  # there it is about what hangs on self
    for first, second in _pairs(parts):
        if first.startswith("self.") != in_class or second.startswith("self.") != in_class:
            continue
        apart = _apart(orders, parts, first, second) or _apart(orders, parts, second, first)
        if apart is not None:
            name, other, both, line = apart
            yield Shuffled(name, other, both, place_at(file, line))


def _apart(
    orders: list[_Order], parts: list[ast.AST], name: str, other: str
) -> tuple[str, str, bool, int] | None:
    own = [order for order in orders if order.name == name]
    theirs = [order for order in orders if order.name == other]
    if not own or {order.key for order in own} & {order.key for order in theirs}:
        return None
    line = own[0].line
    written = [node for node in parts if isinstance(node, ast.Assign) and {name, other} & _targets(node)]
    made_later = any(node.lineno > line and other in _targets(node) for node in written) and not theirs
    if made_later or any(_is_copy(node, {name, other}) for node in written):
        return None
    return name, other, bool(theirs), line


def _read_apart(file: str, parts: list[ast.AST]) -> Iterator[Shuffled]:
    """`rows = order[i:j]`, then `x[rows]` beside `y[i:j]`."""
    reads = [node for node in parts if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)]
    assigned = [node for node in parts if isinstance(node, ast.Assign) and len(node.targets) == 1]
    for rows in assigned:
        if not isinstance(rows.value, ast.Subscript) or not _is_order(_name(rows.value.value), assigned):
            continue
        index, piece = _name(rows.targets[0]), ast.unparse(rows.value.slice)
        shuffled = {_name(read.value): read for read in reads if _name(read.slice) == index}
        plain = {_name(read.value): read for read in reads if ast.unparse(read.slice) == piece}
        others = [name for name in plain if name not in shuffled and name != _name(rows.value.value)]
        if len(shuffled) == len(others) == 1 and all((*shuffled, *others)):
            place = place_at(file, plain[others[0]].lineno)
            yield Shuffled(next(iter(shuffled)), others[0], False, place, index)


def _is_order(name: str, assigned: list[ast.Assign]) -> bool:
    drawn = [node.value for node in assigned if name and name in _targets(node)]
    return len(drawn) == 1 and isinstance(drawn[0], ast.Call) and called_name(drawn[0]) in _ORDERS


def _own(scope: _Scope) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions in it; of a class all of them."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop(0)
        if isinstance(scope, ast.ClassDef) or not isinstance(node, _Scope):
            yield node
            waiting += ast.iter_child_nodes(node)


def _orders(node: ast.AST, parts: list[ast.AST]) -> Iterator[_Order]:
    """The arrays that a statement puts into another order."""
    if isinstance(node, ast.Call) and called_name(node) == "shuffle" and len(node.args) == 1:
        name = _name(node.args[0])
        if name:
            yield _Order(name, node.lineno, f"shuffle at {node.lineno} {name}")
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        for target, value in _assigned(node.targets[0], node.value):
            key = _order_of(value, _name(target), parts)
            if key:
                yield _Order(_name(target), node.lineno, key)


def _order_of(value: ast.expr, name: str, parts: list[ast.AST]) -> str:
    """`x[order]` for the name x -> order; where it is drawn in the line itself, a key of its own."""
    if isinstance(value, ast.Call) and called_name(value) == "permutation" and len(value.args) == 1:
        return f"drawn at {value.lineno} {value.col_offset}" if name and _name(value.args[0]) == name else ""
    if not name or not isinstance(value, ast.Subscript) or _name(value.value) != name:
        return ""
    index = value.slice.elts[0] if isinstance(value.slice, ast.Tuple) else value.slice
    if isinstance(index, ast.Call) and called_name(index) in _ORDERS:
        return f"drawn at {index.lineno} {index.col_offset}"
    assigned = [node for node in parts if isinstance(node, ast.Assign)]
    return _name(index) if _is_order(_name(index), assigned) else ""


def _pairs(parts: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Two arrays, and no third one, read with one and the same index, or handed on side by side."""
    groups: dict[str, set[str]] = {}
    for node in parts:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _varies(node.slice):
            groups.setdefault(ast.unparse(node.slice), set()).add(_name(node.value))
        elif isinstance(node, ast.Call) and called_name(node) in _PAIRING:
            groups[f"call {node.lineno} {node.col_offset}"] = {_only_name(part) for part in node.args}
    for names in groups.values():
        if len(names) == 2 and all(names):
            first, second = sorted(names)
            yield first, second


def _seeds_between(parts: list[ast.AST], orders: list[_Order]) -> bool:
    """Who seeds before each shuffle gets the same order twice."""
    first, last = min(order.line for order in orders), max(order.line for order in orders)
    calls = [node for node in parts if isinstance(node, ast.Call) and called_name(node) in _SEEDING]
    return any(first <= call.lineno <= last for call in calls)


def _is_copy(node: ast.Assign, names: set[str]) -> bool:
    """Another order of the same array, on purpose: negatives are drawn so."""
    calls = [part for part in ast.walk(node.value) if isinstance(part, ast.Call)]
    return any(called_name(call) in _COPIES for call in calls) and bool(names & _names_in(node.value))


def _assigned(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _targets(node: ast.Assign) -> set[str]:
    parts = [part for target in node.targets for part in ast.walk(target)]
    return {_name(part) for part in parts if isinstance(part, ast.expr)} - {""}


def _names_in(node: ast.AST) -> set[str]:
    return {_name(part) for part in ast.walk(node) if isinstance(part, ast.expr)} - {""}


def _only_name(node: ast.expr) -> str:
    """x of torch.tensor(x), of x.float(); empty where there are several."""
    names = _names_in(node) - {"torch", "np", "numpy"}
    plain = {name for name in names if "." not in name or name.startswith("self.")}
    return plain.pop() if len(plain) == 1 else ""


def _varies(index: ast.expr) -> bool:
    return any(isinstance(part, ast.Name) for part in ast.walk(index))


def _name(node: ast.expr) -> str:
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
