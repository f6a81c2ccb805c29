"""Where tensors would live on a machine with an accelerator, as far as source and moves prove.

Three kinds: parameters of modules that were moved, which are on it; tensors that nothing can have moved, which
are on the CPU; and all the rest, of which nothing is claimed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data._utils.collate import default_collate

from torch_debugger.anatomy.moments import Moment
from torch_debugger.anatomy.sources import nodes_of, tree_of, user_trees
from torch_debugger.records import Place
from torch_debugger.trials.accelerators import is_choice
from torch_debugger.trials.moves import Function, function_around, name_of, parameters, targets
from torch_debugger.trials.script_rehearsal.reach import (
    MOVERS,
    function_may_move,
    may_move_under_a_condition,
    object_may_move,
)
from torch_debugger.trials.untouched import Following, argument_of, calls_of

FrameLine = tuple[str, int]


def chosen_device(place: Place) -> str | None:
    """The device that `model.to(...)` at this line asks for, as it is written; None where it may be the CPU."""
    tree = tree_of(place.file) if place.file else None
    for call in nodes_of(tree) if tree is not None else ():
        if isinstance(call, ast.Call) and _is_at(call, place.line) and name_of(call.func) in ("to", "cuda"):
            if name_of(call.func) == "cuda":
                return '"cuda"'
            given = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "device")]
            if given and _may_be_accelerator(given[0]):
                return ast.unparse(given[0])
    return None


def _is_at(node: ast.expr, line: int | None) -> bool:
    return line is not None and node.lineno <= line <= (node.end_lineno or node.lineno)


def _may_be_accelerator(expression: ast.expr, depth: int = 3) -> bool:
    """Whether it names one, or a variable that some line of the script gives one."""
    if any(is_choice(node) for node in ast.walk(expression)):
        return True
    name = name_of(expression)
    if not depth or not name or isinstance(expression, ast.Call):
        return False
    return any(_may_be_accelerator(value, depth - 1) for value in _values_of(name) if value is not expression)


def _values_of(name: str) -> Iterator[ast.expr]:
    """Whatever the script gives to a variable, an attribute, a parameter or an option of this name."""
    for tree in user_trees():
        for node in nodes_of(tree):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                if any(name_of(target) == name for target in targets(node)):
                    yield node.value
            elif isinstance(node, ast.keyword) and node.arg == name:
                yield node.value
            elif isinstance(node, ast.Call) and name_of(node.func) == "add_argument":
                yield from _default(node, name)
            elif isinstance(node, Function) and name in parameters(node):
                yield from _passed(node, name, tree)


def _passed(function: Function, name: str, home: ast.Module) -> Iterator[ast.expr]:
    for tree in user_trees():
        for call in calls_of(tree, home, function):
            if (given := argument_of(call, function, name)) is not None:
                yield given


def _default(call: ast.Call, name: str) -> Iterator[ast.expr]:
    if any(isinstance(each, ast.Constant) and str(each.value).lstrip("-") == name for each in call.args):
        yield from (word.value for word in call.keywords if word.arg == "default")


def moved_weights(modules: Sequence[nn.Module]) -> set[int]:
    """ids of what lives on the accelerator, for sure."""
    return {id(each) for module in modules for each in (*module.parameters(), *module.buffers())}


def tensors_on_the_cpu(moments: Sequence[Moment]) -> dict[int, FrameLine]:
    """Variables of these frames that no line of the script can have moved, with the line that makes each."""
    found: dict[int, FrameLine] = {}
    for moment in moments:
        tree = tree_of(moment.file)
        if tree is None:
            continue
        for name, value in moment.variables.items():
            own = function_around(tree, moment.line) if name in moment.own else None
            line = _made_at(name, own or tree) if isinstance(value, torch.Tensor) else None
            if line is not None and Following([tree, *user_trees()]).name_untouched(name, tree, own):
                found.setdefault(id(value), (moment.file, line))
    return found


def _made_at(name: str, scope: ast.AST) -> int | None:
    lines = [
        node.lineno
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign) and any(name_of(target) == name for target in targets(node))
    ]
    return lines[0] if len(lines) == 1 else None


def gives_cpu_batches(loader: DataLoader[Any], file: str, line: int) -> bool:
    """Whether what this loop takes from a loader is on the CPU: nothing on the way there moves a tensor."""
    tree = tree_of(file)
    loop = loop_at(tree, line) if tree is not None else None
    if tree is None or loop is None or type(loader) is not DataLoader:
        return False
    if object_may_move(loader.dataset) or (
        loader.collate_fn is not default_collate and function_may_move(loader.collate_fn)
    ):
        return False
    return Following([tree, *user_trees()]).untouched(loop.iter, tree, line)


def loop_at(tree: ast.Module, line: int) -> ast.For | None:
    loops = [
        node
        for node in nodes_of(tree)
        if isinstance(node, ast.For) and node.lineno <= line <= (node.iter.end_lineno or node.lineno)
    ]
    return loops[-1] if loops else None


def may_be_moved(names: Sequence[str], file: str, line: int) -> bool:
    """Whether a move of these variables stands under a condition, which may hold on another machine, in this
    function or in one that is called here with them."""
    tree = tree_of(file)
    scope = (function_around(tree, line) or tree) if tree is not None else None
    conditions = [node for node in ast.walk(scope) if isinstance(node, ast.If | ast.IfExp)] if scope else []
    calls = [part for each in conditions for part in ast.walk(each) if isinstance(part, ast.Call)]
    moves = [
        call.func.value for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in MOVERS
    ]
    called = [node for node in ast.walk(scope) if isinstance(node, ast.Call)] if scope else []
    helped = [call for call in called if may_move_under_a_condition(call)]
    moves += [part for call in helped for part in (*call.args, *(word.value for word in call.keywords))]
    spoken = {
        name_of(part) for each in moves for part in ast.walk(each) if isinstance(part, ast.Name | ast.Attribute)
    }
    return bool(spoken & set(names))
