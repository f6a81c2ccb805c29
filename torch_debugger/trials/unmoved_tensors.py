"""A model that no line moves, in a script that moves its batches: read from the source, nothing is run."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data._utils.collate import default_collate

from torch_debugger.records import Place, Rehearsal
from torch_debugger.source.assignments import assignment_of
from torch_debugger.source.device_placement import (
    DEVICES,
    Following,
    calls_of,
    is_choice,
    mentions,
    name_of,
    sets_default_device,
    targets,
)
from torch_debugger.source.files import class_source, nodes_of, place_at, tree_of, user_files, user_trees
from torch_debugger.source.objects import is_a
from torch_debugger.source.syntax import FunctionNode, argument_of, elements_of, function_in, parameters
from torch_debugger.source.variables import VariablesAt
from torch_debugger.trials.cpu_tensors import FrameLine
from torch_debugger.trials.remaining_statements import codes_of

# Whoever speaks of these may have the model moved by somebody else.
_PLACERS = frozenset({
    "Accelerator", "DataParallel", "DistributedDataParallel", "Fabric", "Trainer", "device_map", "fully_shard",
    "prepare", "to_empty", "xpu",
})  # fmt: skip


def unmoved_model(
    models: Sequence[tuple[str, nn.Module]], moments: Sequence[VariablesAt], step: int
) -> Rehearsal | None:
    """`models`: those that were trained so far, with the user's names for them."""
    if len(models) != 1 or not moments:
        return None
    (name, model), moment, trees = models[0], moments[0], _trees_of(moments)
    weights = [*model.parameters(), *model.buffers()]
    on_the_cpu = bool(weights) and all(each.device.type == "cpu" for each in weights)
    if moment.variables.get(name) is not model or not on_the_cpu:
        return None
    if any(sets_default_device(tree) or mentions(tree, _PLACERS) for tree in trees):
        return None
    if not all(_moves_no_module(call, tree, moment) for tree in trees for call in _moves(tree)):
        return None
    batch, made = _moved_batch(moment), assignment_of(moment.file, moment.line, name)
    device = chosen_device(batch) if batch is not None else None
    if batch is None or device is None or made is None or "device" in (made.place.code or ""):
        return None
    return Rehearsal(
        name, "cuda", "mismatch", batch, None, "", ("cuda", "cpu"), (), 0.0, step, made.place, of_script=True,
        device_text=device, model_stays=True,
    )  # fmt: skip


def _trees_of(moments: Sequence[VariablesAt]) -> list[ast.Module]:
    """Of these frames' files and of the user's files that they import, wherever those lie. A move in any of
    them that has run would have been seen; what counts here is one that waits for an accelerator."""
    waiting, trees = [moment.file for moment in moments], dict[str, ast.Module]()
    while waiting:
        file = waiting.pop()
        tree = tree_of(file) if file not in trees else None
        if tree is None:
            continue
        trees[file] = tree
        imports = [node for node in nodes_of(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        names = [alias.name for node in imports for alias in node.names]
        names += [getattr(node, "module", None) or "" for node in imports]
        imported = {part for name in names for part in name.split(".")}  # which may be modules, all of them
        for each in user_files():
            folder, name = os.path.split(os.path.splitext(each)[0])
            if (os.path.basename(folder) if name == "__init__" else name) in imported:
                waiting.append(each)
    return [*trees.values()]


def _moves(tree: ast.Module) -> list[ast.Call]:
    calls = [node for node in nodes_of(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda")]


def _moves_no_module(call: ast.Call, tree: ast.Module, moment: VariablesAt) -> bool:
    """Of a tensor that is made there, of a variable that is one now, or of what a loop takes from somewhere."""
    assert isinstance(call.func, ast.Attribute)
    moved: ast.expr = call.func
    while isinstance(moved, ast.Attribute | ast.Call | ast.Subscript):
        moved = moved.func if isinstance(moved, ast.Call) else moved.value
    if not isinstance(moved, ast.Name):
        return False
    if moved.id == "torch" or is_a(moment.variables.get(moved.id), torch.Tensor):
        return True
    names: list[ast.expr] = []
    for node in nodes_of(tree):
        if isinstance(node, ast.For | ast.comprehension):
            names.append(node.target)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            # next(iter(loader)), torch.randn(...)
            names += node.targets if ast.unparse(node.value.func).startswith(("next", "torch.")) else []
    return any(moved.id == name_of(part) for target in names for part in elements_of(target))


def _moved_batch(moment: VariablesAt) -> Place | None:
    """The first line of the loop around backward() that moves what the loop takes."""
    tree = tree_of(moment.file)
    loops = [
        node
        for node in (nodes_of(tree) if tree is not None else ())
        if isinstance(node, ast.For) and node.lineno < moment.line <= (node.end_lineno or 0)
    ]
    if not loops:
        return None
    names = {part.id for part in ast.walk(loops[-1].target) if isinstance(part, ast.Name)}
    moves = _moves(ast.Module(loops[-1].body, []))
    lines = [call.lineno for call in moves if name_of(getattr(call.func, "value", call.func)) in names]
    return place_at(moment.file, min(lines)) if lines and min(lines) < moment.line else None


# Where tensors would live on a machine with an accelerator, as far as source and moves prove.
#
# Three kinds: parameters of modules that were moved, which are on it; tensors that nothing can have moved, which are
# on the CPU; and all the rest, of which nothing is claimed.


def chosen_device(place: Place) -> str | None:
    """The device that `model.to(...)` at this line asks for, as it is written; None where it may be the CPU."""
    tree = tree_of(place.file) if place.file else None
    for call in _moves(tree) if tree is not None and place.line is not None else ():
        if not call.lineno <= (place.line or 0) <= (call.end_lineno or call.lineno):
            continue
        if name_of(call.func) == "cuda":
            return '"cuda"'
        devices = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "device")]
        if devices and _may_be_accelerator(devices[0]):
            return ast.unparse(devices[0])
    return None


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
                if any(isinstance(each, ast.Constant) and str(each.value).lstrip("-") == name for each in node.args):
                    yield from (word.value for word in node.keywords if word.arg == "default")
            elif isinstance(node, FunctionNode) and name in parameters(node):
                calls = (call for other in user_trees() for call in calls_of(other, tree, node))
                yield from (value for call in calls if (value := argument_of(call, node, name)) is not None)


def moved_weights(modules: Sequence[nn.Module]) -> set[int]:
    """ids of what lives on the accelerator, for sure."""
    return {id(each) for module in modules for each in (*module.parameters(), *module.buffers())}


def tensors_on_the_cpu(moments: Sequence[VariablesAt]) -> dict[int, FrameLine]:
    """Variables of these frames that no line of the script can have moved, with the line that makes each."""
    found: dict[int, FrameLine] = {}
    for moment in moments:
        tree = tree_of(moment.file)
        if tree is None:
            continue
        for name, value in moment.variables.items():
            own = function_in(tree, moment.line) if name in moment.own else None
            if not isinstance(value, torch.Tensor):
                continue
            assigned = (node for node in ast.walk(own or tree) if isinstance(node, ast.Assign))
            lines = [node.lineno for node in assigned if any(name_of(target) == name for target in targets(node))]
            if len(lines) == 1 and Following([tree, *user_trees()]).name_untouched(name, tree, own):
                found.setdefault(id(value), (moment.file, lines[0]))
    return found


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
    scope = (function_in(tree, line) or tree) if tree is not None else None
    conditions = [node for node in ast.walk(scope) if isinstance(node, ast.If | ast.IfExp)] if scope else []
    calls = [part for each in conditions for part in ast.walk(each) if isinstance(part, ast.Call)]
    moves = [call.func.value for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in MOVERS]
    for call in ast.walk(scope) if scope else ():
        if isinstance(call, ast.Call):
            functions = [each for each in _reached(_defined({name_of(call.func)})) if isinstance(each, FunctionNode)]
            conditional = [each for each in functions if any(isinstance(n, ast.If | ast.IfExp) for n in ast.walk(each))]
            if any(mentions(each, MOVERS) for each in conditional):
                moves += [*call.args, *(word.value for word in call.keywords)]
    mentioned = {
        name_of(part) for each in moves for part in ast.walk(each) if isinstance(part, ast.Name | ast.Attribute)
    }
    return bool(mentioned & set(names))


# Whether code of the user's moves tensors, or calls something of theirs that does, in any file and class.
MOVERS = DEVICES | {"to"}
_DEEPEST = 4  # a dataset in a dataset, a transform in a transform


def object_may_move(value: Any, depth: int = 0) -> bool:
    """Whether the code of a dataset or of a transform speaks of devices, or what they keep or call does."""
    sources = [source for cls in type(value).__mro__ if (source := class_source(cls)) is not None]
    if depth > _DEEPEST or _reaches_a_move(source[1] for source in sources):
        return True
    attributes: Mapping[str, Any] = getattr(value, "__dict__", {})
    for attribute in attributes.values():
        several = attribute if isinstance(attribute, (list, tuple)) and len(attribute) < 16 else (attribute,)
        for part in several:
            if hasattr(part, "__code__"):
                if function_may_move(part):
                    return True
                continue
            is_data = isinstance(part, torch.Tensor | str | dict | list | tuple | type)
            if is_data or type(part).__module__.partition(".")[0] == "numpy":
                continue
            works = hasattr(type(part), "__getitem__") or callable(part) or class_source(type(part)) is not None
            if works and object_may_move(part, depth + 1):
                return True
    return False


def function_may_move(function: Any) -> bool:
    """Of a function, or of an object of the user's that is called as one."""
    code = getattr(function, "__code__", None)
    if code is None:
        return class_source(type(function)) is None or object_may_move(function)
    names = {name for each in codes_of(code) for name in (*each.co_names, *each.co_freevars)}
    return bool(names & MOVERS) or _reaches_a_move(_defined(names))


def _reaches_a_move(nodes: Iterable[ast.AST]) -> bool:
    return any(mentions(node, MOVERS) for node in _reached(nodes))


def _reached(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """These, and the functions and classes of the user's that they name, and so on."""
    waiting, seen = [*nodes], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        parts = (part for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute))
        waiting += _defined({name_of(part) for part in parts})


def _defined(names: set[str]) -> list[ast.AST]:
    """Functions, methods and classes of these names; what Python calls by itself is no name of theirs."""
    return [
        node
        for tree in user_trees()
        for node in nodes_of(tree)
        if isinstance(node, FunctionNode | ast.ClassDef) and node.name in names and not node.name.startswith("__")
    ]
