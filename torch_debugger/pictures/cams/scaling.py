"""Maps brought to 0 to 1 and to the size of the image."""

from __future__ import annotations

import torch
from torch.nn import functional

_TINY = 1e-7  # as in the `grad-cam` package; a map of zeros stays zero


def to_unit_range(maps: torch.Tensor) -> torch.Tensor:
    """[..., height, width], each map from its least to its greatest."""
    lifted = maps - maps.amin((-2, -1), keepdim=True)
    return lifted / (_TINY + lifted.amax((-2, -1), keepdim=True))


def resized(maps: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """[maps, height, width]; bilinear between the centres of pixels, as OpenCV does it."""
    return functional.interpolate(maps.unsqueeze(1), size, mode="bilinear", align_corners=False).squeeze(1)


def averaged(maps_of_layers: list[torch.Tensor], size: tuple[int, int]) -> torch.Tensor:
    """What is positive of each layer's map, scaled, resized, averaged and scaled again."""
    scaled = [resized(to_unit_range(maps.relu()), size) for maps in maps_of_layers]
    return to_unit_range(torch.stack(scaled).mean(0))
