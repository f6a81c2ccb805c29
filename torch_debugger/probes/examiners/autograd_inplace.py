"""Who wrote into a tensor that backward still needed: a replay, the graph and version counters tell."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from torch import nn

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.places import constructor_places
from torch_debugger.anatomy.sources import covers, tree_of
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.examiners.autograd_replay import Conflict, Write, replay_writes
from torch_debugger.probes.examiners.autograd_scene import (
    backward_roots,
    graph_of,
    models_of,
    named_modules,
    op_name,
    plain_op,
    scopes,
)
from torch_debugger.probes.examiners.autograd_steps import find_steps
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.source_writes import SourceWrite, owners_of, writes_in
from torch_debugger.probes.examiners.user_scope import Scope, calls_in, statement_place
from torch_debugger.records import Place
from torch_debugger.records.evidence.autograd import InPlaceWrite, Overwritten

_VICTIM = re.compile(
    r"\[torch\.(?:\w+\.)?\w+ \[([\d, ]*)\]\](?:, which is output \d+ of ([\w:]+),)? is at version (\d+); "
    r"expected version (\d+) instead"
)
_CALLS = 4


def examine_overwritten(scene: Scene, message: str) -> Overwritten | None:
    """The victim is told by torch's message; who wrote must be shown by something else."""
    told = _VICTIM.search(message)
    if told is None:
        return None
    shape = tuple(int(size) for size in re.findall(r"\d+", told[1]))
    victim = Overwritten(shape, plain_op(told[2] or ""), int(told[3]), int(told[4]), "", ())
    return _by_replay(scene, victim) or find_steps(scene, victim) or _by_source(scene, victim)


def _by_replay(scene: Scene, victim: Overwritten) -> Overwritten | None:
    for model, args, kwargs in _calls(scene):
        fitting = [conflict for conflict in replay_writes(model, args, kwargs) if _fits(conflict, victim)]
        if fitting:
            paths = {id(module): path for path, module in named_modules(scene)}
            saved = fitting[0].saved
            return dataclasses.replace(
                victim,
                by="replay",
                writes=tuple(_told(write, scene, paths) for write in fitting[0].writes),
                saved=statement_place(saved.file, saved.line, paths.get(id(saved.layer or saved.module))),
            )
    return None


def _fits(conflict: Conflict, victim: Overwritten) -> bool:
    return conflict.shape == victim.shape and len(conflict.writes) == victim.version - victim.expected


def _told(write: Write, scene: Scene, paths: dict[int, str]) -> InPlaceWrite:
    moment, layer = write.moment, write.moment.layer
    path = paths.get(id(layer or moment.module))
    place = statement_place(moment.file, moment.line, path)
    made = _constructor(scene, path, moment.file) if layer is not None and path else Place()
    return InPlaceWrite(place, write.operation, layer=type(layer).__name__ if layer else "", constructor=made)


def _constructor(scene: Scene, path: str, file: str) -> Place:
    for name, model in models_of(scene).items():
        if path == name or path.startswith(f"{name}."):
            files = [file, *(seen.file for seen in scene.frames if seen.user)]
            return constructor_places(model, name, list(dict.fromkeys(files))).get(path, Place())
    return Place()


def _calls(scene: Scene) -> Iterator[tuple[nn.Module, tuple[Any, ...], dict[str, Any]]]:
    """What the models were last called with; where nobody watched, what the user's lines still tell."""
    watched = [(scene.running.models[name], *call) for name, call in scene.running.calls.items()]
    yield from watched[:_CALLS]
    if watched:
        return
    for scope in scopes(scene):
        calls = [call for call in calls_in(scope.function) if call.lineno <= scope.line]
        for call in calls[::-1][:50]:
            module = scope.held(call.func)
            args = tuple(scope.value(item) for item in call.args)
            named = {word.arg: scope.value(word.value) for word in call.keywords if word.arg}
            if is_a(module, nn.Module) and args and not any(item is None for item in args):
                yield module, args, named


def _by_source(scene: Scene, victim: Overwritten) -> Overwritten | None:
    """A statement of the functions under way whose write the graph or the variable's version shows."""
    edges = _edges(scene)
    for scope in scopes(scene):
        writes = [write for node in scope.statements() for write in writes_in(node)]
        ran = [write for write in writes if _ran_before(scope, write)]
        for by, found in (
            ("variable", [write for write in ran if _is_victim(_tensor(scope, write), victim)]),
            ("graph", [write for write in ran if (write.operation, victim.maker) in edges]),
        ):
            if found:
                told = tuple(_write_of(scope, write) for write in found[-(victim.version - victim.expected) :])
                return dataclasses.replace(victim, by=by, writes=told)
    return _in_ended_function(scene, victim, edges)


def _in_ended_function(scene: Scene, victim: Overwritten, edges: set[tuple[str, str]]) -> Overwritten | None:
    """The only statement of the user's files that makes the write which the graph shows."""
    found: list[tuple[str, SourceWrite]] = []
    for file in dict.fromkeys(scope.file for scope in scopes(scene)):
        tree = tree_of(file)
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)] if tree is not None else []
        writes = [write for node in nodes for write in writes_in(node)]
        found += [(file, one) for one in writes if _is_shown(one.operation, victim.maker, edges)]
    if len(found) != 1:
        return None
    file, write = found[0]
    place = statement_place(file, write.node.lineno)
    told = InPlaceWrite(place, write.operation, ast.unparse(write.target))
    return dataclasses.replace(victim, by="source", writes=(told,))


def _is_shown(operation: str, maker: str, edges: set[tuple[str, str]]) -> bool:
    """The graph has this operation done to the victim; or the victim now is what the write made of it."""
    made = any(operation == one for one, _ in edges)
    return (operation, maker) in edges or (operation == maker and made)


def _ran_before(scope: Scope, write: SourceWrite) -> bool:
    """Above the failing line, or below it in a loop that holds both."""
    return write.node.lineno < scope.line or any(covers(loop, write.node.lineno) for loop in scope.loops())


def _tensor(scope: Scope, write: SourceWrite) -> Any:
    held = (scope.held(owner) for owner in owners_of(write.target))
    return next((value for value in held if is_tensor(value)), None)


def _is_victim(value: Any, victim: Overwritten) -> bool:
    """The very tensor, or a view of it: views share the version counter."""
    if not is_tensor(value) or value._version != victim.version:
        return False
    base = value._base if value._base is not None else value
    return victim.shape in (tuple(value.shape), tuple(base.shape), tuple(value.shape)[::-1])


def _edges(scene: Scene) -> set[tuple[str, str]]:
    """(operation, what it was done to), for each edge of the loss's graph."""
    nodes = [node for root in backward_roots(scene) for node in graph_of(root)]
    return {
        (op_name(node) or node.name(), op_name(after))
        for node in nodes
        for after, _ in node.next_functions
        if after is not None
    }


def _write_of(scope: Scope, write: SourceWrite) -> InPlaceWrite:
    return InPlaceWrite(scope.place(write.node), write.operation, ast.unparse(write.target))
