"""The places of an image in what a layer gave: of a convolution, or of tokens that fill a grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image
from torch import nn

from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.pictures.figures import HEAT, INK, image_axes, new_figure, to_unit

Reshape = Callable[[torch.Tensor], torch.Tensor]
_MOST_EXTRA_TOKENS = 16  # class, distillation and register tokens stand in front of the patches
_UNEVEN = 3  # a grid that fits the image only when padded counts as if it left this many tokens over


@dataclass(frozen=True)
class Grid:
    """`reshape` makes [images, channels, height, width]; the axes are those of the layer's own output."""

    reshape: Reshape
    channel_axis: int
    batch_axis: int = 0


class PatchGrid(NamedTuple):
    extra: int  # tokens in front: a class token, registers
    rows: int
    columns: int


def patch_grid(tokens: int, image_size: tuple[int, int]) -> PatchGrid | None:
    """Patches of the image in rows, behind as few other tokens as possible."""
    found = [
        (tokens - high * wide + _UNEVEN * uneven, high, wide)
        for uneven, (high, wide) in _grids(image_size)
        if 0 <= tokens - high * wide <= _MOST_EXTRA_TOKENS and high * wide > 1
    ]
    if not found:
        return None
    _, high, wide = min(found)
    return PatchGrid(tokens - high * wide, high, wide)


def laid_in(grid: PatchGrid, tokens: torch.Tensor) -> torch.Tensor:
    """[N, channels, rows, columns] of [N, tokens, channels]"""
    patches = tokens[:, grid.extra :].reshape(len(tokens), grid.rows, grid.columns, -1)
    return patches.permute(0, 3, 1, 2)


def grid_of(tensor: torch.Tensor, module: nn.Module, count: int, image_size: tuple[int, int]) -> Grid | None:
    """None where the tensor has no places of the image."""
    if tensor.dim() == 4 and len(tensor) == count:
        if _channels_last(tensor, module, image_size):
            return Grid(lambda each: each.permute(0, 3, 1, 2), 3)
        return Grid(lambda each: each, 1)
    if tensor.dim() != 3 or count not in tensor.shape[:2]:
        return None
    batch_first = len(tensor) == count
    found = patch_grid(tensor.shape[1 if batch_first else 0], image_size)
    if found is None:
        return None
    if batch_first:
        return Grid(lambda each: laid_in(found, each), 2)
    return Grid(lambda each: laid_in(found, each.transpose(0, 1)), 2, 1)


def reshaped_grid(tensor: torch.Tensor, reshape: Reshape) -> Grid:
    """Of a function from the user, which may move the channels."""
    made = reshape(tensor.detach())
    stays = tensor.dim() == 4 and made.dim() == 4 and made.shape[1] == tensor.shape[1]
    return Grid(reshape, 1 if stays else tensor.dim() - 1)


def _channels_last(tensor: torch.Tensor, module: nn.Module, image_size: tuple[int, int]) -> bool:
    """As Swin has them: a norm over the last axis, or places where a convolution has its channels."""
    if isinstance(module, nn.LayerNorm):
        return tuple(module.normalized_shape) == (tensor.shape[3],)
    if isinstance(module, (nn.modules.conv._ConvNd, nn.modules.batchnorm._BatchNorm)):
        return False
    grids = {size for _, size in _grids(image_size)}
    return tuple(tensor.shape[1:3]) in grids and tuple(tensor.shape[2:]) not in grids


def _grids(image_size: tuple[int, int]) -> Iterator[tuple[bool, tuple[int, int]]]:
    """What strides make of an image, and whether they fit unevenly (cut off, or padded)."""
    high, wide = image_size
    for stride in range(1, max(high, wide) + 1):
        uneven = bool(high % stride or wide % stride)
        yield uneven, (-(-high // stride), -(-wide // stride))
        if uneven and high // stride and wide // stride:
            yield uneven, (high // stride, wide // stride)


# Tokens of an image: which of them are its patches, and what is said of each drawn over the image.
def image_among(inputs: Any) -> torch.Tensor | None:
    """[N, 1 or 3, H, W]"""
    inputs = dict(inputs) if hasattr(inputs, "keys") else inputs
    images = (each for each in tensors_in(inputs) if each.dim() == 4 and each.shape[1] in (1, 3))
    return next(images, None)


def patches_of(tokens: int, image: torch.Tensor | None) -> PatchGrid | None:
    return None if image is None else patch_grid(tokens, (image.shape[2], image.shape[3]))


def seen_patches(shares: NDArray[Any], patches: PatchGrid) -> NDArray[Any]:
    """[..., rows, columns] of [..., out, in]: what the class token sees; without one, all outputs together."""
    seen = shares[..., 0, :] if patches.extra else shares.mean(axis=-2)
    return seen[..., patches.extra :].reshape(*seen.shape[:-1], patches.rows, patches.columns)


def overlay(title: str, image: torch.Tensor, grid: NDArray[Any], measure: str) -> Figure:
    """The image [C, H, W], and beside it the same under the grid's colours."""
    pixels = np.moveaxis(to_unit(image.detach().float().cpu().numpy()), 0, -1)
    pixels = pixels.repeat(3, axis=2) if pixels.shape[2] == 1 else pixels
    height, width = pixels.shape[:2]
    figure = new_figure(7.4, max(2.4, 3.2 * height / width) + 0.5, title)
    left, right = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
    image_axes(left, "input").imshow(pixels)
    # So that all colour is the map's.
    grey: NDArray[Any] = pixels.mean(axis=2, keepdims=True)
    image_axes(right, f"over {grid.shape[0]} x {grid.shape[1]} patches").imshow(grey.repeat(3, axis=2))
    smooth = Image.fromarray(grid.astype(np.float32)).resize((width, height), Image.Resampling.BICUBIC)
    shown = right.imshow(np.asarray(smooth), cmap=HEAT, alpha=0.6, vmin=grid.min(), vmax=grid.max())
    bar = figure.colorbar(shown, ax=right, fraction=0.05, pad=0.02)
    bar.set_label(measure, fontsize=8, color=INK)
    bar.ax.tick_params(labelsize=8, colors=INK, length=2)
    return figure
