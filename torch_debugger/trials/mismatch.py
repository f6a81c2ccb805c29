"""A device mismatch of the rehearsal as a record: the line, its tensors, the line that made the odd one."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.sources import place_at
from torch_debugger.records import LocalTensor, Rehearsal
from torch_debugger.trials.origin import FrameLine, is_proven, plain_layers
from torch_debugger.trials.pretence import DeviceMismatchError

_MOST_TENSORS = 12


def describe(
    mismatch: DeviceMismatchError,
    model: nn.Module,
    left_behind: dict[int, FrameLine],
    accelerated: Callable[[torch.Tensor], bool],
    draft: Rehearsal,
) -> Rehearsal:
    """The draft filled in; its outcome stays `failed` where the mismatch is not proven."""
    frame, used_at, made_at = mismatch.frame, mismatch.used_at, mismatch.made_at
    if frame is None or used_at is None or made_at is None:
        return dataclasses.replace(draft, error="two devices met, but not by a line that can be named")
    if made_at not in left_behind.values() and not is_proven(made_at, used_at):
        return dataclasses.replace(draft, error="two devices met, but the script may move that tensor")
    module = _module_path(frame, model, draft.root)
    return dataclasses.replace(
        draft,
        outcome="mismatch",
        place=place_at(*used_at, module),
        module=module,
        error=f"{mismatch.__cause__ or mismatch}".replace("lazy", draft.device),
        devices=(f"{draft.device}:0", "cpu"),
        tensors=tuple(tensors_of(frame, mismatch.odd, accelerated, draft.device)),
        origin=place_at(*made_at, module),
    )


def _module_path(frame: FrameType | None, model: nn.Module, root: str) -> str | None:
    """The module whose method this frame is, or is called by."""
    paths = {id(module): f"{root}.{name}".rstrip(".") for name, module in model.named_modules()}
    while frame is not None:
        if id(_first_argument(frame)) in paths:
            return paths[id(_first_argument(frame))]
        frame = frame.f_back
    return None


def _first_argument(frame: FrameType) -> Any:
    names = frame.f_code.co_varnames
    return frame.f_locals.get(names[0]) if names and frame.f_code.co_argcount else None


def tensors_of(
    frame: FrameType, odd: torch.Tensor | None, accelerated: Callable[[torch.Tensor], bool], device: str
) -> Iterator[LocalTensor]:
    """The tensors this frame can name, the odd one first where it is among them."""
    named = [*_named_tensors(frame)]
    named.sort(key=lambda item: item[1] is not odd)
    for name, tensor in itertools.islice(named, _MOST_TENSORS):
        place = f"{device}:0" if accelerated(tensor) else "cpu"
        dtype = str(tensor.dtype).removeprefix("torch.")
        yield LocalTensor(name, tuple(tensor.shape), dtype, place, tensor.requires_grad)


def _named_tensors(frame: FrameType) -> Iterator[tuple[str, torch.Tensor]]:
    for name, value in frame.f_locals.items():
        if isinstance(value, torch.Tensor):
            yield name, value
    owner = _first_argument(frame)
    if isinstance(owner, nn.Module):
        for name, value in vars(owner).items():
            if isinstance(value, torch.Tensor):
                yield f"{frame.f_code.co_varnames[0]}.{name}", value
        for name, layers in plain_layers(owner):
            for key, layer in layers.items():
                for path, weight in layer.named_parameters():
                    yield f"{frame.f_code.co_varnames[0]}.{name}[{key!r}].{path}", weight
