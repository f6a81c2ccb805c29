"""Weights found by trying, without gradients: what the score does when a channel is missing, or alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from torch_debugger.anatomy.listening import listening
from torch_debugger.anatomy.nested import exchanged, first_tensor
from torch_debugger.pictures.aims import Aim, rows_of
from torch_debugger.pictures.cams.runs import Look


def ablation_weights(look: Look, path: str, batch_size: int) -> torch.Tensor:
    """[aims, channels]: the share of the score that is lost when a channel is set to zero (Ablation-CAM)."""
    channels = look.kept.tensors[path].shape[look.grids[path].channel_axis]
    found = []
    for aim, score in zip(look.aims, look.scores, strict=True):
        scores = [
            _scores(look, aim, len(chunk), _with_ablated(look, path, aim, chunk))
            for chunk in _chunks(channels, batch_size)
        ]
        found.append((score - torch.cat(scores)) / torch.where(score == 0, 1e-7, score))
    return torch.stack(found)


def score_weights(look: Look, path: str, batch_size: int) -> torch.Tensor:
    """[aims, channels]: the score of the image seen through each channel, among all of them (Score-CAM)."""
    found = []
    for aim, activation in zip(look.aims, look.activations(path), strict=True):
        image = look.given.tensor[aim.example]
        masks = _masks(activation, image.shape[-2:])
        scores = []
        for chunk in _chunks(len(masks), batch_size):
            seen = image * masks[chunk].unsqueeze(1).to(image.dtype)
            rows = torch.full((len(chunk),), aim.example)
            with torch.no_grad():
                scores.append(_read(look, aim, look.given.ask(look.model, seen, rows), len(chunk)))
        found.append(torch.cat(scores))
    return torch.stack(found).softmax(dim=1)


def _masks(activation: torch.Tensor, size: torch.Size) -> torch.Tensor:
    """[channels, height, width] of the image, each from 0 to 1; corners on corners, as in the paper's code."""
    wide = functional.interpolate(activation.unsqueeze(0), size=size, mode="bilinear", align_corners=True)[0]
    low, high = wide.amin((1, 2), keepdim=True), wide.amax((1, 2), keepdim=True)
    return (wide - low) / (high - low + 1e-8)


def _with_ablated(look: Look, path: str, aim: Aim, channels: list[int]) -> dict[str, Any]:
    """The example's activation once for each channel, that channel zero."""
    grid, tensor = look.grids[path], look.kept.tensors[path].detach()
    one = tensor.narrow(grid.batch_axis, aim.example, 1)
    block = one.repeat_interleave(len(channels), dim=grid.batch_axis)
    axis = grid.channel_axis - (grid.channel_axis > grid.batch_axis)
    for row, channel in enumerate(channels):
        block.select(grid.batch_axis, row).select(axis, channel).zero_()
    return {path: block}


def _scores(look: Look, aim: Aim, count: int, instead: dict[str, torch.Tensor]) -> torch.Tensor:
    """The model's scores when a layer (in its last call) gives something else."""

    def exchange(call: str, module: nn.Module, given: Any, output: Any) -> Any:
        path, _, number = call.partition("#")
        if int(number or 1) != look.kept.calls[path]:
            return None
        tensor = first_tensor(output)
        return exchanged(output, lambda each: instead[path].clone() if each is tensor else each)

    rows = torch.full((count,), aim.example)
    with torch.no_grad(), listening({path: look.layers[path] for path in instead}, exchange):
        answer = look.given.ask(look.model, look.given.tensor[rows], rows)
    return _read(look, aim, answer, count)


def _read(look: Look, aim: Aim, answer: Any, count: int) -> torch.Tensor:
    rows = rows_of(answer, count)
    return torch.stack([aim.score(row) for row in rows]).float().to(look.scores.device)


def _chunks(count: int, size: int) -> Iterator[list[int]]:
    return (list(range(start, min(start + size, count))) for start in range(0, count, size))
