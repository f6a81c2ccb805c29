"""The storages that Python knows of: of every tensor that the garbage collector tracks, each once, by the name
that leads to it and what it is for. What autograd alone holds has no Python object and is not among them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.constructors import constructor_places
from torch_debugger.anatomy.holders import holders
from torch_debugger.anatomy.kinds import is_a, own_attributes
from torch_debugger.anatomy.memory_ids import memory_of
from torch_debugger.anatomy.naming import WRAPPED, name_of, name_root
from torch_debugger.records import Place
from torch_debugger.records.memory import (
    ACTIVATIONS,
    BUFFERS,
    GRADIENTS,
    PARAMETERS,
    STATE,
    TENSORS,
)

_MOST_ROOTS = 200


@dataclass(frozen=True, slots=True)
class Live:
    size: int
    device: torch.device
    address: int
    category: str
    name: str
    place: Place  # of a parameter: the line that builds its layer


@dataclass(frozen=True, slots=True)
class _Use:
    tensor: torch.Tensor
    category: str
    name: str
    place: Place


def live_storages(frame: FrameType | None) -> dict[int, Live]:
    """By the address of torch's own storage object. `frame` is where the user's names are looked for."""
    tracked = [each for each in gc.get_objects() if issubclass(type(each), _LOOKED_FOR)]
    found: dict[int, Live] = {}
    with torch._C.DisableTorchFunctionSubclass():  # else a class of the user's would be asked
        for use in _uses(tracked, frame):
            memory = memory_of(use.tensor)
            if memory is None or memory._cdata in found:
                continue
            if address := _address(memory):
                size = memory.nbytes()
                found[memory._cdata] = Live(size, memory.device, address, use.category, use.name, use.place)
    return found


def _address(memory: torch.UntypedStorage) -> int:
    """0 where it has no bytes: on the meta device, of a fake tensor, of one that only wraps others."""
    try:
        return 0 if memory.device.type == "meta" or not memory.nbytes() else memory.data_ptr()
    except RuntimeError:
        return 0


_LOOKED_FOR = (torch.Tensor, nn.Module, torch.optim.Optimizer)


def _uses(tracked: list[Any], frame: FrameType | None) -> Iterator[_Use]:
    """What is known best comes first: a storage is told by the first of its uses."""
    modules = [each for each in tracked if issubclass(type(each), nn.Module)]
    for root in _roots(modules):
        yield from _of_model(root, name_root(root, frame))
    for each in tracked:
        if issubclass(type(each), torch.optim.Optimizer):
            yield from _of_optimizer(each, name_of(each, frame) or type(each).__name__.lower())
    names = holders(frame)
    tensors = [each for each in tracked if issubclass(type(each), torch.Tensor)]
    order = {tensor: place for place, tensor in enumerate(names)}  # the collector's own changes with time
    tensors.sort(key=lambda each: order.get(id(each), len(order)))
    for tensor in tensors:
        yield _Use(tensor, ACTIVATIONS if _has_graph(tensor) else TENSORS, names.get(id(tensor), ""), Place())
        yield from _gradient(tensor, names.get(id(tensor), ""), Place())


def _roots(modules: list[nn.Module]) -> list[nn.Module]:
    """Those that are no part of another and hold anything."""
    inner = {id(child) for each in modules for child in _children(each)}
    roots = [_unwrapped(each) for each in modules if id(each) not in inner]
    return [each for each in roots if _children(each) or _tensors_of(each)][:_MOST_ROOTS]


def _unwrapped(root: nn.Module) -> nn.Module:
    """Not what torch.compile, DataParallel and DDP put around a model: the user knows it by its own name."""
    children = own_attributes(root).get("_modules")
    while is_a(children, dict) and len(children) == 1 and next(iter(children)) in WRAPPED:
        root = next(iter(children.values()))
        children = own_attributes(root).get("_modules")
    return root


def _children(module: nn.Module) -> list[nn.Module]:
    children = own_attributes(module).get("_modules")  # a scripted module keeps its children in no dictionary
    return [each for each in children.values() if each is not None] if is_a(children, dict) else []


def _tensors_of(module: nn.Module) -> list[tuple[str, torch.Tensor, str]]:
    """Name, tensor, category."""
    own = own_attributes(module)
    held = [(PARAMETERS, own.get("_parameters")), (BUFFERS, own.get("_buffers"))]
    return [
        (name, tensor, category)
        for category, tensors in held
        if is_a(tensors, dict)
        for name, tensor in tensors.items()
        if tensor is not None
    ]


def _of_model(root: nn.Module, root_name: str) -> Iterator[_Use]:
    places = constructor_places(root, root_name)
    for path, module in _walked(root, root_name):
        made = places.get(path, Place())
        place = Place(made.file, made.line, path, made.code)
        for name, tensor, category in _tensors_of(module):
            yield _Use(tensor, category, f"{path}.{name}", place)
            yield from _gradient(tensor, f"{path}.{name}", Place(module=path))


def _walked(root: nn.Module, root_name: str) -> Iterator[tuple[str, nn.Module]]:
    waiting, met = [(root_name, root)], {id(root)}
    while waiting:
        path, module = waiting.pop()
        yield path, module
        children = own_attributes(module).get("_modules")
        for name, child in children.items() if is_a(children, dict) else ():
            if child is not None and id(child) not in met:
                met.add(id(child))
                waiting.append((f"{path}.{name}", child))


def _of_optimizer(optimizer: torch.optim.Optimizer, name: str) -> Iterator[_Use]:
    states = own_attributes(optimizer).get("state")
    for state in list(states.values()) if is_a(states, dict) else ():
        for key, value in state.items() if is_a(state, dict) else ():
            if issubclass(type(value), torch.Tensor):
                yield _Use(value, STATE, f"{name} {key}", Place())


def _gradient(tensor: torch.Tensor, name: str, place: Place) -> Iterator[_Use]:
    if tensor.is_leaf and tensor.requires_grad and tensor.grad is not None:
        yield _Use(tensor.grad, GRADIENTS, f"{name}.grad" if name else "", place)


def _has_graph(tensor: torch.Tensor) -> bool:
    return tensor.grad_fn is not None
