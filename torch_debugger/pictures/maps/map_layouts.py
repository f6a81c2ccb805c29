"""A layer's output as maps: which of its dimensions are channels, which are places."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from torch_debugger.pictures.token_grids import laid_in, patch_grid

IMAGES, TIMELINE, ROW = "maps", "timeline", "row"


@dataclass(frozen=True)
class Layout:
    kind: str  # maps: [sample, channel, height, width]; timeline: [sample, unit, time]; row: [sample, unit]
    values: torch.Tensor
    remark: str = ""


def laid_out(module: nn.Module, output: torch.Tensor, image: tuple[int, int] | None) -> Layout | None:
    """None where there are no places and no units: one number a sample."""
    if output.dim() == 5:
        middle = output.shape[2] // 2
        return Layout(IMAGES, output[:, :, middle], f"slice {middle} of {output.shape[2]} in depth")
    if output.dim() == 4:
        return _places(output, image)
    if output.dim() == 3:
        return _tokens(output, image) or _timeline(module, output)
    return Layout(ROW, output) if output.dim() == 2 and output.shape[1] > 1 else None


def _places(output: torch.Tensor, image: tuple[int, int] | None) -> Layout:
    """Channels come second, unless only the two dimensions before the last have the image's form."""
    last = (
        image is not None
        and _same_form(output.shape[1:3], image)
        and not _same_form(output.shape[2:4], image)
        and output.shape[1] <= image[0]
    )
    return Layout(IMAGES, output.permute(0, 3, 1, 2), "channels last") if last else Layout(IMAGES, output)


def _same_form(places: torch.Size, image: tuple[int, int]) -> bool:
    return places[0] * image[1] == places[1] * image[0]


def _tokens(output: torch.Tensor, image: tuple[int, int] | None) -> Layout | None:
    """[sample, token, unit] of a model that is given images."""
    grid = patch_grid(output.shape[1], image) if image is not None else None
    if grid is None:
        return None
    first = f", without the first {grid.extra} token{'s'[: grid.extra != 1]}" if grid.extra else ""
    return Layout(IMAGES, laid_in(grid, output), f"tokens as places{first}")


def _timeline(module: nn.Module, output: torch.Tensor) -> Layout:
    """Layers of one dimension have their channels before the time, all others behind."""
    channels_second = type(module).__name__.endswith("1d")
    return Layout(TIMELINE, output if channels_second else output.transpose(1, 2))
