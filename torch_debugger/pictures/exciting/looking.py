"""Where in an example a unit looks: how much each place of the input moves it, by the gradient."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.nested import exchanged, tensors_in
from torch_debugger.pictures.exciting.ranking import Exciting
from torch_debugger.pictures.maximizing.goals import Goal
from torch_debugger.pictures.units.channel_axes import takes_series
from torch_debugger.pictures.units.reached_layers import ReachedLayer

_OUTSIDE = 0.05  # of the weight, at either end, is left out of a box


def shown_tensor(inputs: Any) -> torch.Tensor:
    """The one that is drawn: the first that is more than one number for each example."""
    return next((each for each in tensors_in(inputs) if each.dim() > 1), next(tensors_in(inputs)))


def looks_at(model: nn.Module, reached: ReachedLayer, goal: Goal, example: Exciting) -> torch.Tensor:
    """[H, W], [T] or [F]: the weight of each place. Where a layer has one position for each token, it is what
    the unit gave there."""
    given = shown_tensor(example.inputs)
    if not given.is_floating_point():
        return _of_tokens(model, reached, goal, example, given)
    leaf = given.detach().clone().requires_grad_()
    inputs = exchanged(example.inputs, lambda each: leaf.clone() if each is given else each.clone())
    slope = _slope(reached, goal, example, inputs, leaf)[0].abs()
    if slope.dim() < 2:
        return slope
    return slope.sum(-1 if takes_series(model, given) else 0)


def _of_tokens(
    model: nn.Module, reached: ReachedLayer, goal: Goal, example: Exciting, tokens: torch.Tensor
) -> torch.Tensor:
    if example.map.shape == tokens.shape[1:]:
        return example.map
    with _embedded(model, tokens) as leaves:
        slope = _slope(reached, goal, example, exchanged(example.inputs, torch.Tensor.clone), leaves)
    return (
        slope[0].abs().flatten(tokens.dim() - 1).sum(-1) if slope.dim() > 1 else torch.zeros(tokens.shape[1:])
    )


def _slope(reached: ReachedLayer, goal: Goal, example: Exciting, inputs: Any, leaf: Any) -> torch.Tensor:
    """Of the unit at its strongest place, with respect to the input; nothing where no gradient leads there."""
    with torch.enable_grad():
        output = reached.cut(inputs)
        own = reached.layout.by_example(output, 1)[0]
        by_channel = reached.layout.by_channel(output, 1)[0]
        value = own[goal.index] if len(goal.index) > 1 else by_channel[goal.index[0]][example.place]
    leaf = leaf[0] if isinstance(leaf, list) and leaf else leaf
    if isinstance(leaf, list) or not value.requires_grad:
        return torch.zeros(1) if isinstance(leaf, list) else torch.zeros_like(leaf)
    (slope,) = torch.autograd.grad(value.float(), leaf, allow_unused=True)
    return torch.zeros_like(leaf) if slope is None else slope.float().detach()


@contextlib.contextmanager
def _embedded(model: nn.Module, tokens: torch.Tensor) -> Iterator[list[torch.Tensor]]:
    """What the first embedding of the tokens gives, as something that gradients reach."""
    leaves: list[torch.Tensor] = []

    def after(module: nn.Module, given: tuple[Any, ...], output: torch.Tensor) -> torch.Tensor | None:
        if leaves or given[0].shape != tokens.shape:
            return None
        leaves.append(output.detach().requires_grad_())
        return leaves[0].clone()

    handles = [each.register_forward_hook(after) for each in model.modules() if isinstance(each, nn.Embedding)]
    try:
        yield leaves
    finally:
        for handle in handles:
            handle.remove()


def box(weights: torch.Tensor) -> list[tuple[int, int]]:
    """For each axis from where to where (included) lies what counts."""
    found = []
    for axis in range(weights.dim()):
        others = [other for other in range(weights.dim()) if other != axis]
        along = weights.sum(others) if others else weights
        share = along.cumsum(0) / along.sum().clamp(min=1e-30)
        first = int((share > _OUTSIDE).int().argmax())
        found.append(
            (first, int((share >= 1 - _OUTSIDE).int().argmax()) if along.sum() > 0 else len(along) - 1)
        )
    return found
