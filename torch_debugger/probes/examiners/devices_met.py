"""The tensors that met in the operation that failed: a layer's, an optimizer's, or those of the user's line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.examiners.operands import operands_of, running_expression
from torch_debugger.probes.examiners.scene import Scene

_CALLERS = ("_call_impl", "_wrapped_call_impl")
_FUNCTIONS = ("functional.py", "_tensor.py")


@dataclass(frozen=True)
class Meeting:
    """One tensor of the operation."""

    name: str  # torch's name for it, or the user's text
    tensor: torch.Tensor
    role: str = "nameless"  # until the user's frames tell more: weights | buffer | state
    owner: nn.Module | None = None


def meetings(scene: Scene) -> list[Meeting]:
    layer = next((module for seen in reversed(scene.frames) if (module := seen.module()) is not None), None)
    if layer is not None and type(layer).__module__.startswith("torch.nn"):
        found = [*_of_layer(layer), *_given_to(layer, scene)]
    elif (optimizer := _optimizer(scene)) is not None:
        found = list(_of_optimizer(optimizer))
    else:
        found = list(_of_line(scene))
    return _unique(found)


def _unique(found: list[Meeting]) -> list[Meeting]:
    kept = {id(each.tensor): each for each in reversed(found)}
    return [each for each in found if kept.get(id(each.tensor)) is each]


def _of_layer(layer: nn.Module) -> Iterator[Meeting]:
    for role, held in (("weights", layer._parameters), ("buffer", layer._buffers)):
        for name, tensor in held.items():
            if tensor is not None:
                yield Meeting(name, tensor, role, layer)


def _given_to(layer: nn.Module, scene: Scene) -> Iterator[Meeting]:
    """What the layer was called with, under the names of its forward."""
    names: list[str] = []
    given: dict[str, Any] = {}
    for seen in scene.frames:
        if seen.module() is not layer:
            continue
        held, code = seen.frame.f_locals, seen.frame.f_code
        if seen.function in _CALLERS and not given and type(held.get("args")) is tuple:
            given = {str(place): value for place, value in enumerate(held["args"])} | dict(held["kwargs"])
        elif seen.function == "forward":
            names = list(code.co_varnames[1 : code.co_argcount])
            break
    for key, value in given.items():
        name = names[int(key)] if key.isdigit() and int(key) < len(names) else key
        yield from (Meeting(part, tensor) for part, tensor in _parts(name, value))


def _parts(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    if is_tensor(value):
        yield name, value
    elif is_one_of(value, (tuple, list)):
        yield from ((f"{name}[{place}]", part) for place, part in enumerate(value[:8]) if is_tensor(part))


def _optimizer(scene: Scene) -> torch.optim.Optimizer | None:
    for seen in reversed(scene.frames):
        first = seen.frame.f_code.co_varnames[:1]
        held = seen.frame.f_locals.get(first[0]) if first else None
        if is_a(held, torch.optim.Optimizer):
            return held
    return None


def _of_optimizer(optimizer: torch.optim.Optimizer) -> Iterator[Meeting]:
    """Parameters with state on another device, and that state."""
    for parameter, state in optimizer.state.items():
        for name, value in state.items():
            if is_tensor(value) and value.dim() and value.device != parameter.device:
                yield Meeting("parameter", parameter, "weights")
                yield Meeting(str(name), value, "state")
                return


def _of_line(scene: Scene) -> Iterator[Meeting]:
    seen = scene.user_frame
    if seen is None:
        return
    named = operands_of(seen, running_expression(seen))
    yield from (Meeting(name, tensor, "variable") for name, tensor in named)
    yield from _handed_to_torch(scene, seen)


def _handed_to_torch(scene: Scene, seen: Seen) -> Iterator[Meeting]:
    """The arguments of the torch function the line called, where that is one of Python's."""
    index = list(scene.frames).index(seen) + 1
    inner = scene.frames[index] if index < len(scene.frames) else None
    if inner is None or not inner.file.endswith(_FUNCTIONS):
        return
    code = inner.frame.f_code
    for name in code.co_varnames[: code.co_argcount]:
        value: Any = inner.frame.f_locals.get(name)
        if is_tensor(value):
            yield Meeting(name, value)
