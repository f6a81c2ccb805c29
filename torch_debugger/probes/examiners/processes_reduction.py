"""A DistributedDataParallel module and the parameters that its last backward pass left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.naming import name_root
from torch_debugger.anatomy.sources import tree_of
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.crash_source import statement_at
from torch_debugger.probes.examiners.calls_in_files import aliases_of, calls_in, user_files
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place
from torch_debugger.records.evidence.processes import ReductionEvidence

_LEFT_OUT = r"Parameter indices which did not receive grad for rank \d+: ((?:\d+ ?)+)"
_READY_TWICE = r"Parameter at index (\d+)(?: with name (\S+))? has been marked as ready twice"
_DIFFERS = r"params\[(\d+)\] in this process"
_SYMPTOMS = (
    "finished reduction in the prior iteration",
    "mark a variable ready only once",
    "DistributedDataParallel is not needed",
    "appears not to match sizes of the same param",
)
_NODES, _NAMES_KEPT = 100_000, 24


def examine_reduction(scene: Scene) -> ReductionEvidence | None:
    message = str(scene.error)
    if type(scene.error) is not RuntimeError or not any(symptom in message for symptom in _SYMPTOMS):
        return None
    found = _wrapper(scene)
    if found is None:
        return None
    model, wrapper = found
    named = list(_reduced(model))
    missed = re.search(_LEFT_OUT, message)
    missing = [named[int(one)] for one in missed[1].split() if int(one) < len(named)] if missed else []
    twice, differs = re.search(_READY_TWICE, message), re.search(_DIFFERS, message)
    reached, held = _graphs(scene, [parameter for _, parameter in missing])
    files = user_files(scene.frames)
    return ReductionEvidence(
        model=name_root(wrapper if wrapper is not None else model, scene.frames[-1].frame),
        parameters=sum(1 for _ in model.parameters()),
        trainable=len(named),
        left_out=tuple(name for name, _ in missing)[:_NAMES_KEPT],
        differs=_name(named, differs),
        ready_twice=_name(named, twice),
        loss=reached,
        held=held,
        find_unused=bool(getattr(wrapper, "find_unused_parameters", False)),
        checkpoints=tuple(place for place, _ in calls_in(files, "checkpoint", "checkpoint_sequential")),
        wrapped_at=_wrapped_at(scene.frames, files),
    )


def _name(named: Sequence[tuple[str, nn.Parameter]], index: re.Match[str] | None) -> str:
    return named[int(index[1])][0] if index is not None and int(index[1]) < len(named) else ""


def _wrapper(scene: Scene) -> tuple[nn.Module, DistributedDataParallel | None] | None:
    """The module that is wrapped, and its wrapper once that is made."""
    for seen in reversed(scene.frames):
        own: Any = seen.frame.f_locals.get("self")
        if is_a(own, DistributedDataParallel):
            inner = vars(own).get("_modules", {}).get("module") or seen.frame.f_locals.get("module")
            if is_a(inner, nn.Module):
                return inner, own
    wrappers = {id(value): value for _, value in _held(scene.frames) if is_a(value, DistributedDataParallel)}
    return (next(iter(wrappers.values())).module, next(iter(wrappers.values()))) if len(wrappers) == 1 else None


def _held(frames: Sequence[Seen]) -> Iterator[tuple[str, Any]]:
    for seen in reversed(frames):
        if seen.user:
            yield from list(seen.frame.f_locals.items())
            yield from list(seen.frame.f_globals.items())


def _reduced(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """The parameters whose gradients are reduced, in the order by which the reducer counts them."""
    ignored = set(getattr(model, "_ddp_params_and_buffers_to_ignore", ()))
    seen: set[int] = set()
    for path, module in model.named_modules():
        for name, parameter in module.named_parameters(recurse=False):
            full = f"{path}.{name}" if path else name
            if parameter.requires_grad and full not in ignored and id(parameter) not in seen:
                seen.add(id(parameter))
                yield full, parameter


def _graphs(scene: Scene, missing: Sequence[nn.Parameter]) -> tuple[str, tuple[str, ...]]:
    """A loss whose graph reaches none of the missing parameters, and tensors whose graph reaches some."""
    wanted = {id(parameter) for parameter in missing}
    loss, holders = "", []
    for name, value in dict(_held(scene.frames)).items() if missing else ():
        for part, tensor in _tensors(name, value):
            leaves = _leaves(tensor)
            if wanted & leaves:
                holders.append(part)
            elif leaves and tensor.dim() == 0 and (not loss or "loss" in part):
                loss = part
    return loss, tuple(dict.fromkeys(holders))[:8]


def _tensors(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    if is_tensor(value) and value.grad_fn is not None:
        yield name, value
    elif is_one_of(value, (tuple, list)):
        parts = [(f"{name}[{index}]", item) for index, item in enumerate(value[:8])]
        yield from ((part, item) for part, item in parts if is_tensor(item) and item.grad_fn is not None)


def _leaves(tensor: torch.Tensor) -> set[int]:
    """The ids of the leaves that a backward pass from here would reach."""
    waiting: list[Any] = [tensor.grad_fn]
    seen: set[Any] = set()
    leaves: set[int] = set()
    while waiting and len(seen) < _NODES:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.add(id(node.variable))
        waiting += [further for further, _ in node.next_functions]
    return leaves


def _wrapped_at(frames: Sequence[Seen], files: Sequence[str]) -> Place:
    names = aliases_of(frames, DistributedDataParallel) | {"DistributedDataParallel"}
    places = [place for place, _ in calls_in(files, *names)]
    if len(places) != 1 or places[0].file is None or tree_of(places[0].file) is None:
        return Place()
    start, code = statement_at(places[0].file, places[0].line or 0)
    return Place(places[0].file, start, None, code)
