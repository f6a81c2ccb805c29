"""Many small images in rows, each under its label. One pair of axes, measured in inches, holds them all: a
layout of a hundred axes would take seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from torch_debugger.pictures.canvas import INK, SECOND, best_columns, new_figure
from torch_debugger.pictures.captions import LARGE, LINE, SMALL, height_in, wrapped

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
        for place, tile in enumerate(self.tiles):
            row, column = divmod(place, self.across)
            _put(axes, tile, _GAP + column * (wide + _GAP), top - row * (high + _LABEL + _GAP), wide, high)


def even_columns(count: int) -> int:
    """So that the last row is as full as can be: 8 for 64, 5 for 10."""
    usual = best_columns(count)
    return min(range(max(1, usual - 2), usual + 1), key=lambda columns: (-count % columns, -columns))


def _put(axes: Axes, tile: Tile, left: float, top: float, wide: float, high: float) -> None:
    room = max(4, int((wide + _GAP) / _LETTER_IN))
    words = f"{tile.label} {tile.remark}".strip()
    words = words if len(words) <= room else f"{words[: room - 1]}…"
    colour = SECOND if tile.remark else INK
    axes.text(left, top - 0.03, words, size=_POINTS, color=colour, va="top", parse_math=False)
    height, width = tile.image.shape[:2]
    scale = min(wide / width, high / height)
    right, bottom = left + width * scale, top - _LABEL - height * scale
    smooth = "nearest" if scale > 0.03 else "antialiased"
    axes.imshow(np.clip(tile.image, 0, 1), extent=(left, right, bottom, top - _LABEL), interpolation=smooth)


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
