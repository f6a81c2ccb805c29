"""Series as images of one row: every method makes its maps of them as it does of images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.nested import exchanged, tensors_in
from torch_debugger.pictures.main_input import MainInput, main_input
from torch_debugger.pictures.runs_of_models import Inputs
from torch_debugger.pictures.token_grids import Grid, Reshape
from torch_debugger.pictures.units.channel_axes import channels_behind


@dataclass(frozen=True)
class SeriesInput(MainInput):
    """`tensor` is [examples, channels, 1, places]; the model is given it without the one."""

    def exchanged_for(self, new: torch.Tensor, rows: torch.Tensor | None = None) -> Any:
        return super().exchanged_for(new.squeeze(2), rows)


def first_of_series(model: nn.Module, inputs: Inputs) -> nn.Conv1d | None:
    """The first convolution of a model that reads series."""
    given = dict(inputs) if hasattr(inputs, "keys") else inputs
    if any(isinstance(each, (nn.Conv2d, nn.Conv3d)) for each in model.modules()):
        return None
    if any(each.dim() == 4 for each in tensors_in(given)):
        return None
    return next((each for each in model.modules() if isinstance(each, nn.Conv1d)), None)


def series_input(model: nn.Module, inputs: Inputs, first: nn.Conv1d) -> SeriesInput:
    """[examples, channels, places], or a single one."""

    def fits(each: torch.Tensor) -> bool:
        return each.dim() == 3 or (each.dim() == 2 and len(each) == first.in_channels)

    given = main_input(model, inputs, fits, "series, [examples, channels, places]")
    batch = given.tensor if given.tensor.dim() == 3 else given.tensor.unsqueeze(0)
    lifted = batch.unsqueeze(2)
    return SeriesInput(exchanged(given.inputs, lambda each: lifted if each is given.tensor else each), lifted)


def series_grid(tensor: torch.Tensor, module: nn.Module, count: int, reshape: Reshape | None) -> Grid | None:
    """None where the tensor has no places of the series; `reshape` makes [examples, channels, places]."""
    if reshape is not None:
        return Grid(lambda each: reshape(each).unsqueeze(2), tensor.dim() - 1)
    if tensor.dim() != 3 or len(tensor) != count:
        return None
    if channels_behind(module):
        return Grid(lambda each: each.transpose(1, 2).unsqueeze(2), 2)
    return Grid(lambda each: each.unsqueeze(2), 1)
