"""Who holds the memory of a device: models, gradients, optimizers, and variables of the user's."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.additions import addition_to
from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.saved_tensors import nodes_from, saved_by
from torch_debugger.clocks import time
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence.memory import KeptTensors

_NAMES, _ITEMS, _KEPT = 2000, 100_000, 5
_WALK_S, _NODES = 1.5, 300_000
_SMALLEST = 2**20  # bytes; less explains no failure
# State that an optimizer makes at its first step, in copies of the parameters.
_STATE_COPIES = {"Adam": 2, "AdamW": 2, "NAdam": 2, "RAdam": 2, "Adamax": 2, "RMSprop": 1, "Adagrad": 1}


@dataclass(frozen=True)
class Counted:
    parameters: int
    trained: int  # of which get a gradient
    gradients: int
    optimizer: int
    optimizer_to_come: int  # at the first step


def models_of(scene: Scene) -> dict[str, nn.Module]:
    """The models that were watched; else the outermost modules of the traceback and of the user's variables."""
    if scene.running.models:
        return dict(scene.running.models)
    found: dict[str, nn.Module] = {}
    for seen in scene.frames:
        module = seen.module()
        if module is not None and id(module) in scene.paths:
            found.setdefault(scene.paths[id(module)].partition(".")[0], module)
            break
    for name, value in _variables(scene):
        if issubclass(type(value), nn.Module) and name != "self" and value not in found.values():
            found.setdefault(name, value)
    return found


def count_by_kind(scene: Scene, device: torch.device) -> Counted:
    models, optimizers = models_of(scene), _optimizers(scene)
    parameters = [parameter for model in models.values() for parameter in model.parameters()]
    buffers = [buffer for model in models.values() for buffer in model.buffers()]
    grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
    state = [
        item
        for optimizer in optimizers
        for held in optimizer.state.values()
        for item in held.values()
        if is_tensor(item)
    ]
    return Counted(
        parameters=unique_bytes([*parameters, *buffers], device),
        trained=unique_bytes((item for item in parameters if item.requires_grad), device),
        gradients=unique_bytes(grads, device),
        optimizer=unique_bytes(state, device),
        optimizer_to_come=sum(_to_come(optimizer, device) for optimizer in optimizers if not optimizer.state),
    )


def unique_bytes(tensors: Iterable[torch.Tensor], device: torch.device) -> int:
    """The bytes of their storages, each counted once."""
    return sum(_storages(tensors, device).values())


def _storages(tensors: Iterable[torch.Tensor], device: torch.device) -> dict[int, int]:
    held = [tensor.untyped_storage() for tensor in tensors if tensor.device == device]
    return {storage.data_ptr(): storage.nbytes() for storage in held}


def _to_come(optimizer: torch.optim.Optimizer, device: torch.device) -> int:
    groups = optimizer.param_groups
    size = unique_bytes((parameter for group in groups for parameter in group["params"]), device)
    momentum = any(group.get("momentum") for group in groups)
    return size * _STATE_COPIES.get(type(optimizer).__name__, int(momentum))


def _optimizers(scene: Scene) -> list[torch.optim.Optimizer]:
    known = list(scene.running.optimizers.values())
    return known or [value for _, value in _variables(scene) if is_a(value, torch.optim.Optimizer)]


def _variables(scene: Scene) -> Iterator[tuple[str, Any]]:
    """The user's variables, and the attributes of their objects; each object once."""
    for _, name, value in _placed_variables(scene):
        yield name, value


def _placed_variables(scene: Scene) -> Iterator[tuple[Seen, str, Any]]:
    told: set[int] = set()
    for seen in reversed(scene.frames):
        if not seen.user:
            continue
        for name, value in itertools.islice(list(seen.frame.f_locals.items()), _NAMES):
            if id(value) in told or name.startswith("__"):
                continue
            told.add(id(value))
            yield seen, name, value
            if name == "self" and type(vars(value) if hasattr(value, "__dict__") else None) is dict:
                yield from ((seen, f"self.{key}", item) for key, item in list(vars(value).items())[:_NAMES])


def kept_tensors(scene: Scene, device: torch.device) -> tuple[KeptTensors, ...]:
    """Variables that hold much of the device, their graphs included; the largest first."""
    models = models_of(scene)
    known = _storages((tensor for model in models.values() for tensor in model.parameters()), device)
    deadline, found = time.monotonic() + _WALK_S, []
    for seen, name, value in _placed_variables(scene):
        tensors = [tensor for tensor in _inside(value) if tensor.device == device]
        own = {key: size for key, size in _storages(tensors, device).items() if key not in known}
        graph = (
            _graph(tensors, device, {**known, **own}, deadline) if _may_keep_graphs(tensors, name, seen) else 0
        )
        if sum(own.values()) + graph >= _SMALLEST:
            found.append(_kept(seen, name, tensors, sum(own.values()), graph))
    found.sort(key=lambda kept: -(kept.size_bytes + kept.graph_bytes))
    return tuple(found[:_KEPT])


def _inside(value: Any) -> list[torch.Tensor]:
    """A tensor, or those in a container and in the containers inside that."""
    if is_tensor(value):
        return [value]
    if not is_one_of(value, (list, tuple, dict, deque, set)):
        return []
    items = list(itertools.islice(value.values() if type(value) is dict else value, _ITEMS))
    return [
        part
        for item in items
        for part in ([item] if is_tensor(item) else item if is_one_of(item, (list, tuple)) else ())
        if is_tensor(part)
    ]


def _may_keep_graphs(tensors: list[torch.Tensor], name: str, seen: Seen) -> bool:
    """Several tensors with a graph, or one that is added to again and again; the last loss is no hoard."""
    tracked = [tensor for tensor in tensors if tensor.grad_fn is not None]
    return len(tracked) > 1 or (bool(tracked) and bool(addition_to(seen.file, name)[0].file))


def _graph(tensors: list[torch.Tensor], device: torch.device, known: dict[int, int], deadline: float) -> int:
    """The bytes that the tensors' autograd graphs still hold for a backward pass."""
    held: dict[int, int] = {}
    for node in nodes_from((tensor.grad_fn for tensor in tensors), set(), _NODES):
        held |= _storages(saved_by(node), device)
        if time.monotonic() > deadline:
            break
    return sum(size for key, size in held.items() if key not in known)


def _kept(seen: Seen, name: str, tensors: list[torch.Tensor], own: int, graph: int) -> KeptTensors:
    place, added = addition_to(seen.file, name)
    largest = max(tensors, key=lambda tensor: tensor.numel())
    return KeptTensors(name, len(tensors), own, graph, place, added, tuple(largest.shape))
