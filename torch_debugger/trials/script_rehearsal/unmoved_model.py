"""A model that no line moves, in a script that moves its batches: read from the source, nothing is run."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence

import torch
from torch import nn

from torch_debugger.anatomy.assignments import assignment_of, parts
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.moments import Moment
from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of, user_files
from torch_debugger.records import Place, Rehearsal
from torch_debugger.trials.moves import mentions, name_of, sets_default_device
from torch_debugger.trials.script_rehearsal.residence import chosen_device

# Whoever speaks of these may have the model moved by somebody else.
_PLACERS = frozenset({
    "Accelerator", "DataParallel", "DistributedDataParallel", "Fabric", "Trainer", "device_map", "fully_shard",
    "prepare", "to_empty", "xpu",
})  # fmt: skip


def unmoved_model(
    models: Sequence[tuple[str, nn.Module]], moments: Sequence[Moment], step: int
) -> Rehearsal | None:
    """`models`: those that were trained so far, with the user's names for them."""
    if len(models) != 1 or not moments:
        return None
    (name, model), moment, trees = models[0], moments[0], _trees_of(moments)
    if moment.variables.get(name) is not model or not _is_on_the_cpu(model):
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


def _trees_of(moments: Sequence[Moment]) -> list[ast.Module]:
    """Of these frames' files and of the user's files that they import, wherever those lie. A move in any of
    them that has run would have been seen; what counts here is one that waits for an accelerator."""
    waiting, trees = [moment.file for moment in moments], dict[str, ast.Module]()
    while waiting:
        file = waiting.pop()
        tree = tree_of(file) if file not in trees else None
        if tree is not None:
            trees[file] = tree
            imported = {*_imported(tree)}
            waiting += [each for each in user_files() if _module_name(each) in imported]
    return [*trees.values()]


def _imported(tree: ast.Module) -> Iterator[str]:
    """All parts of the names, for they may be modules: from project.models import vae."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [*(alias.name for alias in node.names), getattr(node, "module", None) or ""]
            yield from (part for name in names for part in name.split("."))


def _module_name(file: str) -> str:
    folder, name = os.path.split(os.path.splitext(file)[0])
    return os.path.basename(folder) if name == "__init__" else name


def _is_on_the_cpu(model: nn.Module) -> bool:
    kept = [*model.parameters(), *model.buffers()]
    return bool(kept) and all(each.device.type == "cpu" for each in kept)


def _moves(tree: ast.Module) -> list[ast.Call]:
    calls = [node for node in nodes_of(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda")]


def _moves_no_module(call: ast.Call, tree: ast.Module, moment: Moment) -> bool:
    """Of a tensor that is made there, of a variable that is one now, or of what a loop takes from somewhere."""
    assert isinstance(call.func, ast.Attribute)
    moved: ast.expr = call.func
    while isinstance(moved, ast.Attribute | ast.Call | ast.Subscript):
        moved = moved.func if isinstance(moved, ast.Call) else moved.value
    if not isinstance(moved, ast.Name):
        return False
    if moved.id == "torch" or is_a(moment.variables.get(moved.id), torch.Tensor):
        return True
    loops = [node for node in nodes_of(tree) if isinstance(node, ast.For | ast.comprehension)]
    made = [node for node in nodes_of(tree) if isinstance(node, ast.Assign) and _takes_or_draws(node.value)]
    names = [loop.target for loop in loops] + [target for node in made for target in node.targets]
    return any(moved.id == name_of(part) for target in names for part in parts(target))


def _takes_or_draws(value: ast.expr) -> bool:
    """next(iter(loader)), torch.randn(...)"""
    return isinstance(value, ast.Call) and ast.unparse(value.func).startswith(("next", "torch."))


def _moved_batch(moment: Moment) -> Place | None:
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
    lines = [
        call.lineno
        for call in _moves(ast.Module(loops[-1].body, []))
        if isinstance(call.func, ast.Attribute) and name_of(call.func.value) in names
    ]
    return place_at(moment.file, min(lines)) if lines and min(lines) < moment.line else None
