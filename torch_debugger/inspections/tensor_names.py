"""The user's names for tensors: parameters of a model, and variables of the calling function."""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType

import torch
from torch import nn

from torch_debugger.anatomy.frames import locals_of
from torch_debugger.anatomy.kinds import is_one_of
from torch_debugger.anatomy.layers import clean_path, inner_model


class TensorNames:
    """By object, and for tensors that torch hands out anew by the memory they live in."""

    def __init__(self) -> None:
        self.by_id: dict[int, str] = {}
        self._by_memory: dict[tuple[int, int], str] = {}
        self.trained: list[list[str]] = []  # parameters of each model

    def add(self, name: str, tensor: torch.Tensor) -> None:
        self.by_id.setdefault(id(tensor), name)
        place = _place(tensor)
        if place is not None:
            self._by_memory.setdefault(place, name)

    def add_model(self, model: nn.Module, prefix: str = "") -> None:
        parameters = dict(inner_model(model).named_parameters())
        for name, parameter in parameters.items():
            self.add(f"{prefix}{clean_path(name)}", parameter)
        self.trained.append([self.by_id[id(each)] for each in parameters.values() if each.requires_grad])

    def of_saved(self, tensor: torch.Tensor) -> str:
        place = _place(tensor)
        return self._by_memory.get(place, "") if place is not None else ""


def names_for(
    model: nn.Module | None, names: Mapping[str, torch.Tensor] | None, frame: FrameType | None
) -> TensorNames:
    """What is given comes first; then the tensors and models among a frame's variables."""
    found = TensorNames()
    for name, tensor in (names or {}).items():
        found.add(name, tensor)
    if model is not None:
        found.add_model(model)
    held = locals_of(frame) if frame is not None else {}
    if model is None:
        models = {name: value for name, value in held.items() if _is_model(name, value)}
        for name, value in models.items():
            found.add_model(value, f"{name}." if len(models) > 1 else "")
    for name, value in held.items():
        if isinstance(value, torch.Tensor):
            found.add(name, value)
    return found


def _is_model(name: str, value: object) -> bool:
    return name != "self" and isinstance(value, nn.Module) and next(value.parameters(), None) is not None


def _place(tensor: torch.Tensor) -> tuple[int, int] | None:
    """Where a plain tensor's numbers begin, and how many there are."""
    if not is_one_of(tensor, (torch.Tensor, nn.Parameter)) or tensor.layout is not torch.strided:
        return None
    return (tensor.data_ptr(), tensor.numel()) if tensor.numel() and not tensor.is_meta else None
