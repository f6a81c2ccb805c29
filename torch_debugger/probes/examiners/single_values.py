"""A normalization given one value for each channel: how its batch came to hold a single sample."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from torch.utils.data import DataLoader

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.sources import covers, place_at, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.crash_operands import UnknownValueError, value_of
from torch_debugger.probes.examiners.loading_scene import length_of, loader_place
from torch_debugger.probes.examiners.loading_use import for_statements, loader_in
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.user_scope import statement_place
from torch_debugger.records import Place
from torch_debugger.records.evidence.building import BatchSource, SingleValueFact

_REFUSALS = ("_verify_batch_size", "_verify_spatial_size")
_FUNCTIONS = ("batch_norm", "group_norm", "instance_norm")
_NO_GRADIENTS = ("no_grad", "inference_mode")


def examine_single_value(scene: Scene) -> SingleValueFact | None:
    inner = scene.innermost
    if inner is None or inner.user or inner.function not in _REFUSALS:
        return None
    norm = next(
        (seen for seen in reversed(scene.frames) if seen.function in _FUNCTIONS and not seen.user), None
    )
    given: Any = norm.frame.f_locals.get("input") if norm is not None else None
    if norm is None or not is_tensor(given):
        return None
    users = [seen for seen in reversed(scene.frames) if seen.user]
    return SingleValueFact(
        function=norm.function,
        shape=tuple(given.shape),
        groups=norm.frame.f_locals.get("num_groups", 0),
        tracks=norm.frame.f_locals.get("running_mean") is not None,
        without_gradients=any(_without_gradients(seen) for seen in users),
        trains=any(_calls_backward(seen) for seen in users),
        source=next((source for seen in users for source in _sources(scene, seen) if source.last == 1), None),
    )


def _without_gradients(seen: Seen) -> bool:
    """Whether the line stands in `with no_grad():`, or in a function that is decorated with it."""
    tree = tree_of(seen.file)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.With) and covers(node, seen.line):
            written = [item.context_expr for item in node.items]
        elif isinstance(node, ast.FunctionDef) and covers(node, seen.line) and node.name == seen.function:
            written = node.decorator_list
        else:
            continue
        if any(name in ast.unparse(part) for part in written for name in _NO_GRADIENTS):
            return True
    return False


def _calls_backward(seen: Seen) -> bool:
    """In the loop around the line, else in its function."""
    tree = tree_of(seen.file)
    if tree is None:
        return False
    around: ast.AST = next(iter(for_statements(seen)), None) or function_around(tree, seen.line)
    called = (node.func for node in ast.walk(around) if isinstance(node, ast.Call))
    return any(isinstance(function, ast.Attribute) and function.attr == "backward" for function in called)


def _sources(scene: Scene, seen: Seen) -> Iterator[BatchSource]:
    """What the loops around a frame's line go through, where one batch of theirs is in the frame now."""
    for loop in for_statements(seen):
        line = place_at(seen.file, loop.lineno)
        for name, loader in loader_in(loop.iter, seen):
            if (source := _of_loader(name, loader, line)) is not None and _holds_one(loop.target, seen):
                made = loader_place(scene, loader)
                whole = statement_place(made.file, made.line) if made.file and made.line else Place()
                yield dataclasses.replace(source, place=whole)
        if (ranged := _of_range(loop, seen, line)) is not None:
            yield ranged


def _of_loader(name: str, loader: DataLoader[Any], loop: Place) -> BatchSource | None:
    samples = length_of(loader.sampler)
    if not samples or not loader.batch_size or loader.drop_last:
        return None
    return BatchSource(name, samples, loader.batch_size, loop)


def _of_range(loop: ast.For, seen: Seen, place: Place) -> BatchSource | None:
    """for start in range(0, len(x), 16), in its last round"""
    given = loop.iter.args if isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "range" else []
    if len(given) != 3 or not isinstance(loop.target, ast.Name):
        return None
    first, end, step = (_number(node, seen) for node in given)
    if first != 0 or not end or not step or seen.frame.f_locals.get(loop.target.id) != end - 1:
        return None
    return BatchSource(ast.unparse(loop.iter), end, step, place, is_range=True)


def _number(node: ast.expr, seen: Seen) -> int | None:
    """Also of len(x) and len(dataset)."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "len" and len(node.args) == 1:
        return length_of(_value(node.args[0], seen))
    value = _value(node, seen)
    return value if type(value) is int else None


def _value(node: ast.expr, seen: Seen) -> Any:
    try:
        return value_of(node, seen.frame)
    except UnknownValueError:
        return None


def _holds_one(target: ast.expr, seen: Seen) -> bool:
    """Whether a tensor of the batch in hand has one sample; where none is seen, nothing speaks against it."""
    names = [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]
    held = [part for name in names for part in _tensors(seen.frame.f_locals.get(name))]
    return not held or any(part.shape[:1] == (1,) for part in held)


def _tensors(value: Any) -> list[Any]:
    if is_tensor(value):
        return [value]
    parts = value.values() if is_a(value, Mapping) else value if is_one_of(value, (tuple, list)) else ()
    return [part for part in parts if is_tensor(part)]
