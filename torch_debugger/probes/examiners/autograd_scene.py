"""What the scene of an autograd crash holds: the graph's roots, its nodes, models, optimizers, scopes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.kinds import own_attributes
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.user_scope import Scope

_NODES, _NAMES = 20_000, 2000
_ENTRIES = {"backward": "tensors", "grad": "outputs"}
Node = Any  # torch.autograd.graph.Node; custom functions have classes of their own


def backward_roots(scene: Scene) -> list[torch.Tensor]:
    """The tensors that backward() or autograd.grad() was called on."""
    for seen in reversed(scene.frames):
        if seen.file.endswith("autograd/__init__.py") and seen.function in _ENTRIES:
            held = seen.frame.f_locals.get(_ENTRIES[seen.function])
            parts = held if isinstance(held, tuple | list) else (held,)
            return [part for part in parts if is_tensor(part)]
    return []


def name_of(scene: Scene, value: Any) -> str:
    """The variable of a user's frame that holds this very object; empty where none does."""
    for seen in reversed([seen for seen in scene.frames if seen.user]):
        for name, held in list(seen.frame.f_locals.items()):
            if held is value:
                return name
    return ""


def scopes(scene: Scene) -> list[Scope]:
    """The user's functions under way, the innermost first."""
    return [Scope(seen) for seen in reversed(scene.frames) if seen.user]


def graph_of(tensor: Any) -> dict[Node, None]:
    """The nodes behind a tensor, the nearest first; leaves of the user's are left out."""
    found: dict[Node, None] = {}
    waiting = [tensor.grad_fn] if is_tensor(tensor) and tensor.grad_fn is not None else []
    for node in waiting:
        if node not in found and len(found) < _NODES:
            found[node] = None
            waiting += [after for after, _ in node.next_functions if _is_inner(after)]
    return found


def _is_inner(node: Node) -> bool:
    return node is not None and "AccumulateGrad" not in node.name()


def leaves_of(tensor: Any) -> list[torch.Tensor]:
    """The leaves that a backward from here would give gradients to."""
    after = [node for inner in graph_of(tensor) for node, _ in inner.next_functions if node is not None]
    return [node.variable for node in dict.fromkeys(after) if "AccumulateGrad" in node.name()]


def op_name(node: Node) -> str:
    """Sigmoid for SigmoidBackward0: torch's messages have used either."""
    return plain_op(node.name())


def plain_op(name: str) -> str:
    return name.rpartition("::")[2].partition("Backward")[0]


def models_of(scene: Scene) -> dict[str, nn.Module]:
    """The watched root modules; where nobody watched, those the user's frames can name."""
    return dict(scene.running.models) or _held(scene, lambda value: issubclass(type(value), nn.Module))


def optimizers_of(scene: Scene) -> dict[str, torch.optim.Optimizer]:
    found = dict(scene.running.optimizers)
    return found or _held(scene, lambda value: issubclass(type(value), torch.optim.Optimizer))


def _held(scene: Scene, wanted: Callable[[Any], bool]) -> dict[str, Any]:
    """By name, from the locals, the attributes of `self`, and the globals of the user's frames."""
    found: dict[str, Any] = {}
    for seen in reversed([seen for seen in scene.frames if seen.user]):
        places = [seen.frame.f_locals, _attributes(seen.frame.f_locals.get("self")), seen.frame.f_globals]
        for names in places:
            for name, value in itertools.islice(list(names.items()), _NAMES):
                if wanted(value) and not any(value is other for other in found.values()):
                    found.setdefault(name, value)
    return found


def _attributes(value: Any) -> dict[str, Any]:
    held = own_attributes(value)
    children = held.get("_modules")
    return {**held, **children} if isinstance(children, dict) else dict(held)


def named_modules(scene: Scene) -> Iterator[tuple[str, nn.Module]]:
    """Every module of the models, under its path: net.fc1"""
    for name, model in models_of(scene).items():
        yield from model.named_modules(prefix=name)


def named_parameters(scene: Scene) -> Iterator[tuple[str, torch.Tensor]]:
    for name, model in models_of(scene).items():
        yield from model.named_parameters(prefix=name)
