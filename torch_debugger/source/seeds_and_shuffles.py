"""The line of a script that seeds torch in the course of its training."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.records import Place
from torch_debugger.source.calls import calls_of
from torch_debugger.source.files import nodes_of, place_at, tree_of
from torch_debugger.source.statements import function_around, is_in_loop
from torch_debugger.source.syntax import FunctionNode, called_name, calls_in, parameters, targets_of


def seeding_in_loop(loop: Place) -> Place:
    """The last call of manual_seed, or of a function that calls it, inside any loop or beside this one."""
    tree = tree_of(loop.file)
    if tree is None or loop.line is None:
        return Place()
    seeds = [place for _, place in calls_of(loop.file, "manual_seed")]
    around = [function_around(tree, place.line or 0) for place in seeds]
    names = {function.name for function in around if isinstance(function, ast.FunctionDef)}
    outside = [place for name in names for _, place in calls_of(loop.file, name)]
    home = function_around(tree, loop.line)
    found = [
        place
        for place in (*seeds, *outside)
        if is_in_loop(tree, place.line or 0) or (home is not tree and function_around(tree, place.line or 0) is home)
    ]
    return max(found, key=lambda place: place.line or 0, default=Place())


# Functions that draw the samples of a batch or the order of an epoch, from one seed at every call.
_SEEDS = ("manual_seed", "seed", "RandomState", "default_rng", "Random")
_BATCH_DRAWS = ("randint", "choice", "choices", "integers", "sample", "random_integers")
_ORDER_DRAWS = ("randperm", "permutation", "permuted", "shuffle")


@dataclass(frozen=True)
class FixedOrder:
    function: str
    seed: Place  # the line that seeds
    call: Place  # where the training loop calls the function
    each: str  # step | epoch


def fixed_orders(file: str) -> list[FixedOrder]:
    """In one file: the function, its seed and the loop around backward() that calls it."""
    tree = tree_of(file)
    found: list[FixedOrder] = []
    for function in nodes_of(tree) if tree is not None else ():
        if tree is None or not isinstance(function, ast.FunctionDef):
            continue
        calls = [call for call in calls_in(function, *_SEEDS) if len(call.args) == 1]
        seed = next((call for call in calls if _is_constant(call.args[0], function, tree)), None)
        if seed is None:
            continue
        for call, each in _training_calls(tree, function.name):
            if not _gives_seed(call, function, seed) and _draws(function, seed, each):
                places = place_at(file, seed.lineno), place_at(file, call.lineno)
                found.append(FixedOrder(function.name, *places, each))
    return found


def _is_constant(value: ast.expr, function: ast.FunctionDef, tree: ast.Module) -> bool:
    """A number, a default of the function's own, or a name that the file gives a number once."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int)
    if not isinstance(value, ast.Name):
        return False
    if value.id in parameters(function):
        return isinstance(_default(function, value.id), ast.Constant)
    fills = [node for node in nodes_of(tree) if value.id in {_text(target) for target in targets_of(node)}]
    return len(fills) == 1 and isinstance(fills[0], ast.Assign) and isinstance(fills[0].value, ast.Constant)


def _default(function: ast.FunctionDef, name: str) -> ast.expr | None:
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    defaults = dict(zip(reversed(names), reversed(arguments.defaults), strict=False))
    keyword = dict(zip([argument.arg for argument in arguments.kwonlyargs], arguments.kw_defaults, strict=True))
    return defaults.get(name) or keyword.get(name)


def _gives_seed(call: ast.Call, function: ast.FunctionDef, seed: ast.Call) -> bool:
    """The call passes the parameter that the seed is read from."""
    name = _text(seed.args[0])
    names = parameters(function)
    if name not in names:
        return False
    return len(call.args) > names.index(name) or any(word.arg in (name, None) for word in call.keywords)


def _draws(function: ast.FunctionDef, seed: ast.Call, each: str) -> bool:
    """Something is drawn from the seed's line on: of one batch, or of the whole order."""
    wanted = (*_BATCH_DRAWS, *_ORDER_DRAWS) if each == "step" else _ORDER_DRAWS
    return any(call.lineno >= seed.lineno for call in calls_in(function, *wanted))


def _training_calls(tree: ast.Module, name: str) -> Iterator[tuple[ast.Call, str]]:
    """Calls inside the innermost loop around backward(), or as what it goes through inside another loop."""
    loops = [node for node in nodes_of(tree) if isinstance(node, ast.For | ast.While)]
    training = [loop for loop in loops if _calls(loop.body, "backward")]
    inner = [loop for loop in training if not any(other is not loop and _holds(loop, other) for other in training)]
    for loop in inner:
        yield from ((call, "step") for call in _calls(loop.body, name))
        if isinstance(loop, ast.For) and any(other is not loop and _holds(other, loop) for other in training):
            yield from ((call, "epoch") for call in _calls([loop.iter], name))


def _holds(outer: ast.stmt, inner: ast.stmt) -> bool:
    return any(node is inner for node in ast.walk(outer))


def _calls(parts: list[ast.stmt] | list[ast.expr], name: str) -> list[ast.Call]:
    return [call for part in parts for call in calls_in(part, name)]


def _text(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


# Two arrays that belong together in the user's source, of which a line puts one into another order.
#
# `rng.shuffle(x)` or `x = x[torch.randperm(len(x))]`, where `x[i:j]` and `y[i:j]` are read side by side and `y` keeps
# its order, or gets one of its own.
_ORDERS = ("randperm", "permutation")
_SEEDING = ("seed", "manual_seed", "set_state", "setstate", "set_rng_state", "RandomState", "default_rng")
_COPIES = ("copy", "clone", "deepcopy", "list")
_PAIRING = ("zip", "TensorDataset", "train_test_split")
_Scope = ast.Module | FunctionNode | ast.Lambda | ast.ClassDef


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


def _apart(orders: list[_Order], parts: list[ast.AST], name: str, other: str) -> tuple[str, str, bool, int] | None:
    own = [order for order in orders if order.name == name]
    theirs = [order for order in orders if order.name == other]
    if not own or {order.key for order in own} & {order.key for order in theirs}:
        return None
    line = own[0].line
    written = [node for node in parts if isinstance(node, ast.Assign) and {name, other} & _names_filled(node)]
    made_later = any(node.lineno > line and other in _names_filled(node) for node in written) and not theirs
    if made_later or any(_is_copy(node, {name, other}) for node in written):
        return None
    return name, other, bool(theirs), line


def _read_apart(file: str, parts: list[ast.AST]) -> Iterator[Shuffled]:
    """`rows = order[i:j]`, then `x[rows]` beside `y[i:j]`."""
    reads = [node for node in parts if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)]
    assigned = [node for node in parts if isinstance(node, ast.Assign) and len(node.targets) == 1]
    for rows in assigned:
        if not isinstance(rows.value, ast.Subscript) or not _is_order(_array_name(rows.value.value), assigned):
            continue
        index, piece = _array_name(rows.targets[0]), ast.unparse(rows.value.slice)
        shuffled = {_array_name(read.value): read for read in reads if _array_name(read.slice) == index}
        plain = {_array_name(read.value): read for read in reads if ast.unparse(read.slice) == piece}
        others = [name for name in plain if name not in shuffled and name != _array_name(rows.value.value)]
        if len(shuffled) == len(others) == 1 and all((*shuffled, *others)):
            place = place_at(file, plain[others[0]].lineno)
            yield Shuffled(next(iter(shuffled)), others[0], False, place, index)


def _is_order(name: str, assigned: list[ast.Assign]) -> bool:
    drawn = [node.value for node in assigned if name and name in _names_filled(node)]
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
        name = _array_name(node.args[0])
        if name:
            yield _Order(name, node.lineno, f"shuffle at {node.lineno} {name}")
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        for target, value in _assigned(node.targets[0], node.value):
            key = _order_of(value, _array_name(target), parts)
            if key:
                yield _Order(_array_name(target), node.lineno, key)


def _order_of(value: ast.expr, name: str, parts: list[ast.AST]) -> str:
    """`x[order]` for the name x -> order; where it is drawn in the line itself, a key of its own."""
    if isinstance(value, ast.Call) and called_name(value) == "permutation" and len(value.args) == 1:
        return f"drawn at {value.lineno} {value.col_offset}" if name and _array_name(value.args[0]) == name else ""
    if not name or not isinstance(value, ast.Subscript) or _array_name(value.value) != name:
        return ""
    index = value.slice.elts[0] if isinstance(value.slice, ast.Tuple) else value.slice
    if isinstance(index, ast.Call) and called_name(index) in _ORDERS:
        return f"drawn at {index.lineno} {index.col_offset}"
    assigned = [node for node in parts if isinstance(node, ast.Assign)]
    return _array_name(index) if _is_order(_array_name(index), assigned) else ""


def _pairs(parts: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Two arrays, and no third one, read with one and the same index, or handed on side by side."""
    groups: dict[str, set[str]] = {}
    for node in parts:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _varies(node.slice):
            groups.setdefault(ast.unparse(node.slice), set()).add(_array_name(node.value))
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


def _names_filled(node: ast.Assign) -> set[str]:
    parts = [part for target in node.targets for part in ast.walk(target)]
    return {_array_name(part) for part in parts if isinstance(part, ast.expr)} - {""}


def _names_in(node: ast.AST) -> set[str]:
    return {_array_name(part) for part in ast.walk(node) if isinstance(part, ast.expr)} - {""}


def _only_name(node: ast.expr) -> str:
    """x of torch.tensor(x), of x.float(); empty where there are several."""
    names = _names_in(node) - {"torch", "np", "numpy"}
    plain = {name for name in names if "." not in name or name.startswith("self.")}
    return plain.pop() if len(plain) == 1 else ""


def _varies(index: ast.expr) -> bool:
    return any(isinstance(part, ast.Name) for part in ast.walk(index))


def _array_name(node: ast.expr) -> str:
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
