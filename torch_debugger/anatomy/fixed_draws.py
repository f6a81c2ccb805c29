"""Functions that draw the samples of a batch or the order of an epoch, from one seed at every call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.anatomy.assignments import parameters
from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of
from torch_debugger.records import Place

_SEEDS = ("manual_seed", "seed", "RandomState", "default_rng", "Random")
_BATCH_DRAWS = ("randint", "choice", "choices", "integers", "sample", "random_integers")
_ORDER_DRAWS = ("randperm", "permutation", "permuted", "shuffle")
_Loop = (ast.For, ast.While)


@dataclass(frozen=True)
class FixedOrder:
    function: str
    seed: Place  # the line that seeds
    call: Place  # where the training loop calls the function
    each: str  # step | epoch


def fixed_orders(file: str) -> list[FixedOrder]:
    """In one file: the function, its seed and the loop around backward() that calls it."""
    tree = tree_of(file)
    functions = [node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef)] if tree else []
    found = []
    for function in functions:
        seed = _constant_seed(function, tree)
        for call, each in _training_calls(tree, function.name) if seed is not None else ():
            if seed is not None and not _gives_seed(call, function, seed) and _draws(function, seed, each):
                told = (place_at(file, seed.lineno), place_at(file, call.lineno), each)
                found.append(FixedOrder(function.name, *told))
    return found


def _constant_seed(function: ast.FunctionDef, tree: ast.Module | None) -> ast.Call | None:
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and _name(node.func) in _SEEDS]
    return next(
        (call for call in calls if len(call.args) == 1 and _is_constant(call.args[0], function, tree)), None
    )


def _is_constant(value: ast.expr, function: ast.FunctionDef, tree: ast.Module | None) -> bool:
    """A number, a default of the function's own, or a name that the file gives a number once."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int)
    if not isinstance(value, ast.Name):
        return False
    if value.id in parameters(function):
        return isinstance(_default(function, value.id), ast.Constant)
    nodes = list(nodes_of(tree)) if tree else []
    targets = [node for node in nodes if isinstance(node, (ast.Assign, ast.AugAssign, ast.For))]
    fills = [node for node in targets if value.id in {_text(target) for target in _targets(node)}]
    return len(fills) == 1 and isinstance(fills[0], ast.Assign) and isinstance(fills[0].value, ast.Constant)


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AugAssign, ast.For)) else []


def _default(function: ast.FunctionDef, name: str) -> ast.expr | None:
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    defaults = dict(zip(reversed(names), reversed(given.defaults), strict=False))
    keyword = dict(zip([argument.arg for argument in given.kwonlyargs], given.kw_defaults, strict=True))
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
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and _name(node.func) in wanted]
    return any(call.lineno >= seed.lineno for call in calls)


def _training_calls(tree: ast.Module | None, name: str) -> Iterator[tuple[ast.Call, str]]:
    """Calls inside the innermost loop around backward(), or as what it goes through inside another loop."""
    loops = [node for node in (nodes_of(tree) if tree else ()) if isinstance(node, _Loop)]
    training = [loop for loop in loops if _calls(loop.body, "backward")]
    inner = [
        loop for loop in training if not any(other is not loop and _holds(loop, other) for other in training)
    ]
    for loop in inner:
        yield from ((call, "step") for call in _calls(loop.body, name))
        if isinstance(loop, ast.For) and any(other is not loop and _holds(other, loop) for other in training):
            yield from ((call, "epoch") for call in _calls([loop.iter], name))


def _holds(outer: ast.stmt, inner: ast.stmt) -> bool:
    return any(node is inner for node in ast.walk(outer))


def _calls(parts: list[ast.stmt] | list[ast.expr], name: str) -> list[ast.Call]:
    nodes = [node for part in parts for node in ast.walk(part)]
    return [node for node in nodes if isinstance(node, ast.Call) and _name(node.func) == name]


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else _text(function)


def _text(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""
