"""One look at chosen layers: their activations and gradients, brought into the form of an image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.errors import UsageError
from torch_debugger.pictures.aims import Aim, Target, aims_for, rows_of, turns_of
from torch_debugger.pictures.cams.series import SeriesInput, series_grid
from torch_debugger.pictures.gradient_runs import KeptOutputs, UnfitLayerError, gradients_of
from torch_debugger.pictures.main_input import MainInput
from torch_debugger.pictures.token_grids import Grid, Reshape, given_grid, grid_of


@dataclass(frozen=True)
class Look:
    """All maps are of these aims, in their order; both dictionaries go by the layer's path."""

    model: nn.Module
    given: MainInput
    layers: dict[str, nn.Module]
    aims: list[Aim]
    scores: torch.Tensor  # [aims], float32
    kept: KeptOutputs
    grids: dict[str, Grid]
    gradients: dict[
        str, torch.Tensor
    ]  # [aims, channels, height, width], float32; empty where none were asked for
    is_the_output: bool

    @property
    def silent(self) -> bool:
        """No gradient anywhere: the score does not move with these layers."""
        return bool(self.gradients) and not any(each.any() for each in self.gradients.values())

    def activations(self, path: str) -> torch.Tensor:
        """[aims, channels, height, width], float32"""
        examples = [aim.example for aim in self.aims]
        return self.grids[path].reshape(self.kept.tensors[path].detach())[examples].float()


def look_at(
    model: nn.Module,
    given: MainInput,
    layers: dict[str, nn.Module],
    target: Target,
    *,
    gradients: bool,
    reshape: Reshape | None = None,
) -> Look:
    """One forward, and a backward for each target that an example has."""
    kept = KeptOutputs()
    with torch.set_grad_enabled(gradients), kept.listening(layers):
        rows = rows_of(given.ask(model), given.count)
        kept.closed = True
        aims = aims_for(target, rows)
        scores = [aim.score(rows[aim.example]) for aim in aims]
        grids = {path: _grid(path, module, kept, given, reshape) for path, module in layers.items()}
        found = _gradients(aims, scores, kept, grids) if gradients else {}
    numbers = torch.stack(scores).detach().float()
    is_output = _is_output(kept, rows, 3 if isinstance(given, SeriesInput) else 4)
    return Look(model, given, layers, aims, numbers, kept, grids, found, is_output)


def _grid(path: str, module: nn.Module, kept: KeptOutputs, given: MainInput, reshape: Reshape | None) -> Grid:
    if path not in kept.tensors:
        raise UnfitLayerError(f"layer `{path}` was not called, or gave no tensor of numbers, for this input.")
    tensor = kept.tensors[path]
    high, wide = given.tensor.shape[-2:]
    if isinstance(given, SeriesInput):
        grid = series_grid(tensor, module, given.count, reshape)
        what, expected = "series", "[examples, channels, places]"
    else:
        grid = given_grid(tensor, reshape) if reshape else grid_of(tensor, module, given.count, (high, wide))
        what = f"{high} x {wide} image"
        expected = "[images, channels, height, width], or tokens that fill a grid"
    if reshape is not None and grid is not None:
        return _checked(path, grid, tensor, given)
    if grid is None or grid.reshape(tensor.detach()).shape[2:].numel() == 1:
        raise UnfitLayerError(
            f"layer `{path}` gives {list(tensor.shape)}, without places of the {what}: expected {expected}."
            " Choose an earlier layer, or give reshape=, a function that makes it so."
        )
    return grid


def _checked(path: str, grid: Grid, tensor: torch.Tensor, given: MainInput) -> Grid:
    made = grid.reshape(tensor.detach())
    if made.dim() != 4 or len(made) != given.count:
        raise UsageError(
            f"reshape= made {list(made.shape)} of what layer `{path}` gives, {list(tensor.shape)}: expected"
            f" [{given.count}, channels, height, width]."
        )
    return grid


def _gradients(
    aims: list[Aim], scores: list[torch.Tensor], kept: KeptOutputs, grids: dict[str, Grid]
) -> dict[str, torch.Tensor]:
    """Examples do not depend on each other, so that one backward serves one target of each."""
    found: dict[str, list[Any]] = {path: [None] * len(aims) for path in kept.tensors}
    turns = list(turns_of(aims))
    for number, turn in enumerate(turns):
        total = torch.stack([scores[place] for place in turn]).sum()
        for path, gradient in gradients_of(total, kept, again=number + 1 < len(turns)).items():
            shaped = grids[path].reshape(gradient)
            for place in turn:
                found[path][place] = shaped[aims[place].example]
    return {path: torch.stack(each).float() for path, each in found.items()}


def _is_output(kept: KeptOutputs, rows: Any, dimensions: int) -> bool:
    """The scores of all places, as a segmenting model's last convolution gives them, explain nothing."""
    if not isinstance(rows, torch.Tensor) or rows.dim() != dimensions:
        return False
    kept_maps = [each for each in kept.tensors.values() if each.dim() == dimensions]
    return any(each.shape[1] == rows.shape[1] for each in kept_maps)
