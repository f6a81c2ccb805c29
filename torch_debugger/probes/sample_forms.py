"""What a tensor of a batch shows, by its shape and by the first layer that reads it, and a small piece of it.

Everything here is computed on the tensor's own device, without asking it for a number.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

MOST_SAMPLES = 8
SIDE = 64  # pixels
MOST_PIXELS = 74_000  # of a record, over all samples and channels
CHANNELS, PICTURE_CHANNELS = 8, 4
NUMBERS = 256  # of a vector, or of one channel of a series
TOKENS = 128  # of a row
_COLOURS = (1, 3, 4)
_AVERAGED = 2**20  # numbers of a sample at most; of larger ones single pixels are taken
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_READERS = (*_CONVOLUTIONS, nn.RNNBase, nn.Linear, nn.Embedding, nn.EmbeddingBag)


@dataclass(frozen=True)
class Piece:
    kind: str
    values: torch.Tensor
    note: str = ""


def first_reader(module: nn.Module) -> nn.Module | None:
    """The first layer with weights, in the order of its definition."""
    return next((part for part in module.modules() if isinstance(part, _READERS)), None)


def piece_of(tensor: torch.Tensor, reader: nn.Module | None, target: bool = False) -> Piece | None:
    """None for what has no form that could be drawn."""
    whole = not tensor.is_floating_point()
    if tensor.dim() == 1:
        return Piece("values", tensor[:MOST_SAMPLES])
    if tensor.dim() == 2:
        return _rows(tensor, whole)
    if tensor.dim() == 3:
        return _three(tensor, reader, whole, target)
    if tensor.dim() == 4:
        return Piece("image", small(_channels_first(tensor, reader)))
    if tensor.dim() == 5:
        middle = tensor.shape[2] // 2
        return Piece("image", small(tensor[:, :, middle]), f"slice {middle} of {tensor.shape[2]} along axis 2")
    return None


def _rows(tensor: torch.Tensor, whole: bool) -> Piece:
    before = shape_before(tensor)
    if not whole and before is not None:
        return Piece("image", small(before), "drawn as it was before it was flattened")
    return Piece("tokens", tensor[:MOST_SAMPLES, :TOKENS]) if whole else _vectors(tensor)


def _vectors(tensor: torch.Tensor) -> Piece:
    return Piece("vectors", tensor[:MOST_SAMPLES, :NUMBERS])


def _three(tensor: torch.Tensor, reader: nn.Module | None, whole: bool, target: bool) -> Piece:
    if whole and target:
        return Piece("mask", _strided(tensor[:, None], MOST_PIXELS // 4)[:, 0])
    if whole or _is_flat_picture(tensor, reader):
        return Piece("image", small(tensor[:, None]))
    last = _time_is_last(tensor, reader)
    series = tensor if last else tensor.transpose(1, 2)
    return Piece("series", series[:MOST_SAMPLES, :CHANNELS, :NUMBERS], "" if last else "channels last")


def _is_flat_picture(tensor: torch.Tensor, reader: nn.Module | None) -> bool:
    """Height and width without channels: a layer that reads all of it at once, or one for pictures."""
    high, wide = tensor.shape[1:]
    if isinstance(reader, nn.Linear):
        return reader.in_features == high * wide and min(high, wide) >= 4
    return isinstance(reader, nn.Conv2d) and min(high, wide) >= 4


def _time_is_last(tensor: torch.Tensor, reader: nn.Module | None) -> bool:
    if isinstance(reader, nn.Conv1d):
        return reader.in_channels == tensor.shape[1]
    width = {nn.Linear: "in_features"}.get(type(reader), "input_size")  # type: ignore[arg-type]
    if getattr(reader, width, None) == tensor.shape[2]:
        return False
    return tensor.shape[2] >= tensor.shape[1]


def _channels_first(tensor: torch.Tensor, reader: nn.Module | None) -> torch.Tensor:
    if isinstance(reader, _CONVOLUTIONS) and reader.in_channels == tensor.shape[1]:
        return tensor
    last = tensor.shape[3] in _COLOURS and tensor.shape[1] not in _COLOURS
    return tensor.permute(0, 3, 1, 2) if last else tensor


def shape_before(tensor: torch.Tensor) -> torch.Tensor | None:
    """The pictures that were flattened into rows, where the rows are still a view of them."""
    base = tensor._base
    if base is None or base.dim() != 4 or base.shape[0] != tensor.shape[0] or base.numel() != tensor.numel():
        return None
    return base.detach() if base.is_contiguous() and tensor.is_contiguous() else None


def small(pictures: torch.Tensor) -> torch.Tensor:
    """[samples, channels, height, width] with no side above SIDE: means over squares, or single pixels."""
    if pictures[0].numel() > _AVERAGED:
        return _strided(pictures, MOST_PIXELS)
    times = _times(pictures)
    high, wide = (max(1, size // times) for size in pictures.shape[2:])
    some = _few(pictures, high * wide, MOST_PIXELS)
    if times == 1:
        return some
    if min(pictures.shape[2:]) < times:  # a line: nothing to take means over in one direction
        return some[:, :, ::times, ::times]
    return nn.functional.avg_pool2d(some.float(), times)


def _strided(pictures: torch.Tensor, most: int) -> torch.Tensor:
    times = _times(pictures)
    thin = pictures[:, :, ::times, ::times]
    return _few(thin, thin.shape[2] * thin.shape[3], most)


def _times(pictures: torch.Tensor) -> int:
    return max(1, -(-max(pictures.shape[2:]) // SIDE))


def _few(pictures: torch.Tensor, pixels: int, most: int) -> torch.Tensor:
    channels = min(PICTURE_CHANNELS, pictures.shape[1])
    samples = max(1, min(MOST_SAMPLES, most // (channels * pixels)))
    return pictures[:samples, :channels]
