"""FullGrad (arXiv:1905.00780): what the input and every bias of the convolutions and their norms contribute."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd

from torch_debugger.anatomy.layers import clean_path
from torch_debugger.pictures.aims import Aim, Target, aims_for, rows_of
from torch_debugger.pictures.attributing.input_gradients import input_gradients
from torch_debugger.pictures.cams.scaling import resized, to_unit_range
from torch_debugger.pictures.cams.series import SeriesInput
from torch_debugger.pictures.gradient_runs import KeptOutputs
from torch_debugger.pictures.main_input import MainInput

_BIASED = {False: (nn.Conv2d, nn.BatchNorm2d), True: (nn.Conv1d, nn.BatchNorm1d)}


def full_gradient(
    model: nn.Module, given: MainInput, target: Target
) -> tuple[torch.Tensor, list[Aim], torch.Tensor]:
    """The map before scaling [aims, height, width], the aims, and their scores."""
    kinds = _BIASED[isinstance(given, SeriesInput)]
    named = [(clean_path(path), each) for path, each in model.named_modules() if type(each) in kinds]
    layers = {path: each for path, each in named if _bias(each) is not None}
    leaf = given.tensor.detach().clone().requires_grad_()
    kept = KeptOutputs()
    with kept.listening(layers):
        rows = rows_of(given.ask(model, leaf), given.count)
        kept.closed = True
        aims = aims_for(target, rows)
        of_input, *of_layers = input_gradients(leaf, rows, aims, list(kept.tensors.values()))
    images = torch.stack([given.tensor[aim.example] for aim in aims]).float()
    total = _summed(torch.stack(of_input).float() * images, images.shape[-2:])
    for path, gradients in zip(kept.tensors, of_layers, strict=True):
        gradient = torch.stack(gradients).float()
        if gradient.dim() == 3:  # of a series
            gradient = gradient.unsqueeze(2)
        if gradient.dim() == 4:
            bias = _bias(layers[path]).float().view(1, -1, 1, 1)
            total = total + _summed(gradient * bias, images.shape[-2:])
    scores = torch.stack([aim.score(rows[aim.example]).detach().float() for aim in aims])
    return total, aims, scores


def _summed(contributions: torch.Tensor, size: Any) -> torch.Tensor:
    """Each channel scaled on its own; summed before resizing, which is the same and less work."""
    return resized(to_unit_range(contributions.abs()).sum(1), tuple(size))


def _bias(module: nn.Module) -> Any:
    """What a layer adds, or None; for a norm with what its running mean takes away."""
    if isinstance(module, _ConvNd):
        return None if module.bias is None else module.bias.detach()
    if isinstance(module, _BatchNorm) and module.bias is not None and module.running_mean is not None:
        assert module.running_var is not None
        taken = module.running_mean * module.weight / (module.running_var + module.eps).sqrt()
        return (module.bias - taken).detach()
    return None
