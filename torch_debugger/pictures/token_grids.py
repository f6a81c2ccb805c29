"""The places of an image in what a layer gave: of a convolution, or of tokens that fill a grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

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


def given_grid(tensor: torch.Tensor, reshape: Reshape) -> Grid:
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
