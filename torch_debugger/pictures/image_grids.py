"""Many small images in rows, each under its label. One pair of axes, measured in inches, holds them all: a
layout of a hundred axes would take seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch.nn import functional

from torch_debugger.pictures.figures import (
    HEAT,
    INK,
    LARGE,
    LINE,
    SECOND,
    SMALL,
    best_columns,
    height_in,
    new_figure,
    plain_axes,
    to_unit,
    wrapped,
)
from torch_debugger.system.errors import UsageError

_GAP, _LABEL, _HEADING = 0.08, 0.16, 0.24  # inches
_NARROWEST = 4.5
_POINTS = 7.0
_LETTER_IN, _HEADING_LETTER_IN = 0.056, 0.062  # of a label, of a heading
_FLAT, _STEEP = 0.2, 2.5  # forms beyond these are drawn smaller, not stretched
_SLIMMEST = 0.6  # inches: room for a label


@dataclass(frozen=True)
class Tile:
    """A painted image, [height, width, 3]; one with a remark has it in red behind its label."""

    image: NDArray[Any]
    label: str = ""
    remark: str = ""


@dataclass(frozen=True)
class Mosaic:
    """Tiles of one size, and what stands above them."""

    tiles: Sequence[Tile]
    heading: str = ""
    columns: int = 0  # 0: as suits their number
    tile_in: float = 0.95

    @property
    def across(self) -> int:
        return min(self.columns or even_columns(len(self.tiles)), len(self.tiles))

    @property
    def box_in(self) -> tuple[float, float]:
        """Width and height that the largest tile has."""
        shapes = np.array([tile.image.shape[:2] for tile in self.tiles])
        aspect = float(np.clip(shapes[:, 0].max() / shapes[:, 1].max(), _FLAT, _STEEP))
        if aspect <= 1:
            return self.tile_in, self.tile_in * aspect
        return max(_SLIMMEST, self.tile_in / aspect), self.tile_in

    @property
    def width_in(self) -> float:
        return max(self.across * (self.box_in[0] + _GAP) + _GAP, len(self.heading) * _HEADING_LETTER_IN)

    @property
    def height_in(self) -> float:
        rows = math.ceil(len(self.tiles) / self.across)
        return rows * (self.box_in[1] + _LABEL + _GAP) + (_HEADING if self.heading else 0.0) + _GAP

    def draw(self, axes: Axes, top: float) -> None:
        if self.heading:
            _write(axes, top, [self.heading], SMALL)
            top -= _HEADING
        wide, high = self.box_in
        room = max(4, int((wide + _GAP) / _LETTER_IN))
        for place, tile in enumerate(self.tiles):
            row, column = divmod(place, self.across)
            left, high_edge = _GAP + column * (wide + _GAP), top - row * (high + _LABEL + _GAP)
            words = f"{tile.label} {tile.remark}".strip()
            words = words if len(words) <= room else f"{words[: room - 1]}…"
            colour = SECOND if tile.remark else INK
            axes.text(left, high_edge - 0.03, words, size=_POINTS, color=colour, va="top", parse_math=False)
            height, width = tile.image.shape[:2]
            scale = min(wide / width, high / height)
            edges = (left, left + width * scale, high_edge - _LABEL - height * scale, high_edge - _LABEL)
            smooth = "nearest" if scale > 0.03 else "antialiased"
            axes.imshow(np.clip(tile.image, 0, 1), extent=edges, interpolation=smooth)


def even_columns(count: int) -> int:
    """So that the last row is as full as can be: 8 for 64, 5 for 10."""
    usual = best_columns(count)
    return min(range(max(1, usual - 2), usual + 1), key=lambda columns: (-count % columns, -columns))


def _write(axes: Axes, top: float, lines: Sequence[str], points: float) -> None:
    words = "\n".join(lines)
    axes.text(_GAP, top, words, size=points, color=INK, va="top", linespacing=LINE * 0.83, parse_math=False)


def mosaic_figure(title: str, blocks: Sequence[Mosaic], words: Sequence[str] = ()) -> Figure:
    """Blocks of tiles one under the other, the title above and sentences below."""
    width = max(_NARROWEST, *(block.width_in for block in blocks))
    above, below = wrapped([title], width - 0.2, LARGE), wrapped(words, width - 0.2)
    heading_in = height_in(above, LARGE) + 2 * _GAP
    blocks_in = sum(block.height_in for block in blocks)
    total = heading_in + blocks_in + height_in(below) + _GAP
    figure = new_figure(width, total)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    top = total - heading_in
    for block in blocks:
        block.draw(axes, top)
        top -= block.height_in
    _write(axes, total - _GAP, above, LARGE)
    _write(axes, top, below, SMALL)
    axes.set(xlim=(0, width), ylim=(0, total), aspect="auto")
    axes.set_axis_off()
    return figure


# The same small drawing for many layers or units, in rows, each under its name.
_LEFT, _DRAWING_GAP, _NAME = 0.12, 0.22, 0.34  # inches


def small_multiples(
    title: str,
    names: Sequence[str],
    draw: Callable[[Axes, int], None],
    words: Sequence[str] = (),
    *,
    columns: int = 0,
    size_in: tuple[float, float] = (1.15, 0.6),
    under: float = 0.0,
) -> Figure:
    """`draw(axes, place)` for each name, without ticks unless it sets some; `under` is room for them. Places
    are reckoned here: matplotlib's own layout of a hundred axes takes seconds."""
    columns = min(columns or even_columns(len(names)), len(names))
    rows = math.ceil(len(names) / columns)
    wide, high = size_in
    width = max(4.5, columns * (wide + _DRAWING_GAP) + 2 * _LEFT)
    above, below = wrapped([title], width - 0.2, LARGE), wrapped(words, width - 0.2)
    head = height_in(above, LARGE) + 0.12
    total = head + rows * (high + _NAME + under) + height_in(below) + 0.15
    figure = new_figure(width, total)
    figure.set_layout_engine("none")
    for place, name in enumerate(names):
        row, column = divmod(place, columns)
        left = _LEFT + column * (wide + _DRAWING_GAP)
        bottom = total - head - row * (high + _NAME + under) - _NAME - high
        axes = plain_axes(figure.add_axes((left / width, bottom / total, wide / width, high / total)))
        axes.set(xticks=[], yticks=[])
        draw(axes, place)
        axes.set_title(name, fontsize=7, color=INK, pad=2, loc="left", linespacing=1.1).set_parse_math(False)
    for height, lines, points, edge in (
        (1 - 0.08 / total, above, LARGE, "top"),
        (0.06 / total, below, SMALL, "bottom"),
    ):
        figure.text(
            0.08 / width, height, "\n".join(lines), fontsize=points, color=INK, va=edge, linespacing=LINE * 0.83,
            parse_math=False,
        )  # fmt: skip
    return figure


# Tensors that a model was given, as images that can be looked at.
Numbers = Sequence[float] | torch.Tensor | NDArray[Any] | None


class ShownImages:
    """Images [N, C, H, W] of a model, each as [H, W, 3] in 0 to 1 when it is asked for.

    With their normalisation undone, or from their least to their greatest; other than three channels are
    averaged to grey.
    """

    def __init__(self, images: torch.Tensor, mean: Numbers = None, std: Numbers = None) -> None:
        self._images = images.detach().clone()
        self._is_unnormalized = mean is None and std is None
        self._mean, self._std = _per_channel(mean, 0.0, images), _per_channel(std, 1.0, images)

    def __getitem__(self, number: int) -> NDArray[np.float64]:
        image = self._images[number].to("cpu", torch.float64).numpy()
        values = to_unit(image) if self._is_unnormalized else np.clip(image * self._std + self._mean, 0, 1)
        values = np.nan_to_num(values)
        if len(values) != 3:
            values = values.mean(axis=0, keepdims=True).repeat(3, axis=0)
        return np.moveaxis(values, 0, 2)


def as_background(images: Any, count: int, size: tuple[int, int]) -> NDArray[np.float64]:
    """Images of the user's own to draw on, brought to the size of the model's input.

    [H, W, 3], [3, H, W] or a batch of either; bytes, or numbers from 0 to 1 (others from least to greatest).
    """
    values = np.asarray(images.detach().cpu() if isinstance(images, torch.Tensor) else images)
    values = (values / 255.0 if values.dtype == np.uint8 else values).astype(np.float64)
    values = values[None] if values.ndim == 3 else values
    if values.ndim == 4 and values.shape[3] not in (1, 3):
        values = np.moveaxis(values, 1, 3)
    if values.ndim != 4 or len(values) != count or values.shape[3] not in (1, 3):
        raise UsageError(
            f"expected background= as {count} images, [{count}, height, width, 3], but got {list(np.shape(images))}."
        )
    values = values if values.min() >= 0 and values.max() <= 1 else to_unit(values)
    moved = torch.from_numpy(np.ascontiguousarray(np.moveaxis(values, 3, 1)))
    sized = functional.interpolate(moved, size, mode="bilinear", antialias=True) if moved.shape[2:] != size else moved
    return np.broadcast_to(np.moveaxis(sized.numpy(), 1, 3), (count, *size, 3))


def heat_over(image: NDArray[Any], heat: NDArray[Any]) -> NDArray[np.float64]:
    """The hotter, the more colour: where it is cold, the image is seen as it is.

    Under the heat it loses its own colour, which would mix with that of the heat to something else.
    """
    colour = colormaps[HEAT](0.25 + 0.75 * heat)[..., :3]
    warm = np.asarray(heat, dtype=np.float64)[..., None]
    ground = image * (1 - warm) + image.mean(axis=2, keepdims=True) * warm
    mixed: NDArray[np.float64] = ground * (1 - 0.7 * warm) + colour * 0.7 * warm
    return mixed


def _per_channel(values: Numbers, otherwise: float, images: torch.Tensor) -> NDArray[np.float64]:
    channel_values = np.atleast_1d(np.asarray(otherwise if values is None else values, dtype=np.float64)).ravel()
    if len(channel_values) not in (1, images.shape[1]):
        raise UsageError(
            f"mean= and std= have {len(channel_values)} entries, but the images have {images.shape[1]} channels."
        )
    return channel_values.reshape(-1, 1, 1)
