"""The layer that made the scores a loss was given: by the autograd graph, else by its size."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.naming import name_root
from torch_debugger.anatomy.places import constructor_places
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.crash_layer import describe_layer
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import LayerFact, Place

_NODES, _NAMES = 200, 2000


def find_score_layer(scene: Scene, scores: torch.Tensor, size: int) -> LayerFact | None:
    """The only layer in reach that gives `size` scores and, where there is a graph, is the last one in it."""
    roots = list(_roots(scene))
    made = next(_parameters_behind(scores), None)
    found = [(name, root, path, layer) for name, root in roots for path, layer in _fitting(name, root, size)]
    if made is not None:
        found = [item for item in found if any(part is made for part in item[3].parameters(recurse=False))]
    if not found or any(item[3] is not found[0][3] for item in found):
        return None
    name, root, path, layer = found[0]
    files = list(dict.fromkeys(seen.file for seen in reversed(scene.frames) if seen.user))
    return describe_layer(layer, path, constructor_places(root, name, files), Place(module=path))


def _roots(scene: Scene) -> Iterator[tuple[str, nn.Module]]:
    """The models in reach: those watched, then those the user's frames hold."""
    known: set[int] = set()
    for name, root in scene.running.models.items():
        known.add(id(root))
        yield name, root
    for seen in reversed(scene.frames):
        for module in _held(seen.frame) if seen.user else ():
            if id(module) not in known:
                known.add(id(module))
                yield name_root(module, seen.frame), module


def _held(frame: FrameType) -> Iterator[nn.Module]:
    """Modules in variables, and those that `self` keeps in attributes."""
    owner = getattr(frame.f_locals.get("self"), "__dict__", {})
    for names in (frame.f_locals, owner, frame.f_globals):
        for value in list(names.values())[:_NAMES]:
            if issubclass(type(value), nn.Module):
                yield value


def _fitting(name: str, root: nn.Module, size: int) -> Iterator[tuple[str, nn.Module]]:
    """The layers of a model that give this many scores."""
    for path, layer in root.named_modules(prefix=name):
        if size in (vars(layer).get("out_features"), vars(layer).get("out_channels")):
            yield path, layer


def _parameters_behind(scores: torch.Tensor) -> Iterator[torch.Tensor]:
    """The parameters in the graph behind a tensor, the nearest first."""
    waiting: list[Any] = [scores.grad_fn]
    seen: set[Any] = set()
    for node in waiting:
        if node is None or node in seen or len(seen) > _NODES:
            continue
        seen.add(node)
        if is_tensor(getattr(node, "variable", None)):
            yield node.variable
        waiting += [following for following, _ in node.next_functions]
