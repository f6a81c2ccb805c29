"""Thumbnails of all points in one picture, row by row, as TensorBoard's projector cuts them out."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy
import torch
from PIL import Image

_LARGEST = 8192  # pixels a side; browsers load no larger textures


def sprite_png(pictures: torch.Tensor) -> tuple[bytes, tuple[int, int]]:
    """From [N, C, H, W]: bytes, or numbers from 0 to 1. Also the width and height of one thumbnail."""
    columns = math.ceil(math.sqrt(len(pictures)))
    most = max(1, _LARGEST // columns)
    height, width = (min(size, most) for size in pictures.shape[-2:])
    sheet = numpy.zeros((columns * height, columns * width, 3), numpy.uint8)
    for row, chunk in enumerate(torch.split(pictures, columns)):
        strip = _pixels(chunk, height, width)  # [N, H, W, 3]
        joined = strip.transpose(1, 0, 2, 3).reshape(height, -1, 3)
        sheet[row * height : (row + 1) * height, : joined.shape[1]] = joined
    file = io.BytesIO()
    Image.fromarray(sheet).save(file, "PNG", compress_level=1)
    return file.getvalue(), (width, height)


def _pixels(pictures: torch.Tensor, height: int, width: int) -> Any:
    values = pictures.detach().to("cpu", torch.float32)
    scaled = values if pictures.dtype == torch.uint8 else values * 255
    colours = scaled[:, :3] if pictures.shape[1] >= 3 else scaled[:, :1].expand(-1, 3, -1, -1)
    if colours.shape[-2:] != (height, width):
        colours = torch.nn.functional.interpolate(colours, (height, width), mode="bilinear", antialias=True)
    return colours.nan_to_num(0).clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).numpy()
