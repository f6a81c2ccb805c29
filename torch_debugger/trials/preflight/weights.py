"""Weights, gradients and an optimizer's memory: kept, and put back."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer


@contextlib.contextmanager
def weights_kept(models: Sequence[nn.Module], optimizer: Optimizer | None) -> Iterator[None]:
    """In place: whoever holds a parameter or the optimizer finds the same objects with the same numbers."""
    held = {id(each): each for model in models for each in model.parameters()}
    # a script may train what no model registers
    held |= {id(each): each for group in _groups(optimizer) for each in group["params"]}
    before = [(each, each.detach().clone(), each.grad, each.requires_grad) for each in held.values()]
    groups, state = ([], {}) if optimizer is None else _memory(optimizer)
    for each in held.values():
        each.grad = None
    try:
        yield
    finally:
        for parameter, numbers, gradient, learns in before:
            parameter.data.copy_(numbers)
            parameter.grad = gradient
            parameter.requires_grad_(learns)
        if optimizer is not None:
            _restore(optimizer, groups, state)


def _groups(optimizer: Optimizer | None) -> list[dict[str, Any]]:
    return [] if optimizer is None else optimizer.param_groups


def _memory(optimizer: Optimizer) -> tuple[list[dict[str, Any]], dict[Any, Any]]:
    groups = [
        {key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups
    ]
    return copy.deepcopy(groups), {key: _copied(value) for key, value in optimizer.state.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return copy.copy(value)


def _restore(optimizer: Optimizer, groups: list[dict[str, Any]], state: dict[Any, Any]) -> None:
    for group, before in zip(optimizer.param_groups, groups, strict=True):
        group.update(before)
    optimizer.state.clear()
    optimizer.state.update(state)
