"""Guided backpropagation (arXiv:1412.6806): a ReLU passes back only what is positive in both directions."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from torch_debugger.pictures.aims import Aim, Target, aims_for, rows_of
from torch_debugger.pictures.attributing.input_gradients import input_gradients
from torch_debugger.pictures.main_input import MainInput

_RELUS = {functional.relu, torch.relu, torch.Tensor.relu}
_RELUS_IN_PLACE = {functional.relu_, torch.relu_, torch.Tensor.relu_}


def guided_gradients(
    model: nn.Module, given: MainInput, target: Target
) -> tuple[torch.Tensor, list[Aim], torch.Tensor, int]:
    """The gradients of the input [aims, channels, ...], the aims, their scores, and how many ReLUs were met."""
    leaf = given.tensor.detach().clone().requires_grad_()
    with _GuidedReLUs() as guided:
        rows = rows_of(given.ask(model, leaf), given.count)
        aims = aims_for(target, rows)
        (found,) = input_gradients(leaf, rows, aims)
    scores = torch.stack([aim.score(rows[aim.example]).detach().float() for aim in aims])
    return torch.stack(found).float(), aims, scores, guided.met


class _GuidedReLUs(TorchFunctionMode):
    """Modules and functions alike: an nn.ReLU calls the function."""

    def __init__(self) -> None:
        super().__init__()
        self.met = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        if func not in _RELUS and func not in _RELUS_IN_PLACE:
            return func(*args, **keywords)
        self.met += 1
        given = args[0] if args else keywords["input"]
        made = _GuidedReLU.apply(given)  # type: ignore[no-untyped-call]
        in_place = func in _RELUS_IN_PLACE or keywords.get("inplace", args[1] if len(args) > 1 else False)
        return given.copy_(made) if in_place else made


class _GuidedReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(given > 0)
        return given.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (positive,) = ctx.saved_tensors
        return torch.where(positive, gradient.clamp(min=0), 0)
