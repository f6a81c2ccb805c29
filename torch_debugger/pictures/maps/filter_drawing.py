"""How filters are drawn: tiles in colour, tiles around zero, lines, a strip of channels, or one matrix."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from torch_debugger.pictures.canvas import ACCENT, INK, PALE, SIGNED, plain_axes
from torch_debugger.pictures.captions import named, put_below, titled_figure
from torch_debugger.pictures.maps.colour_bars import colour_bar
from torch_debugger.pictures.mosaic import Mosaic, Tile, mosaic_figure
from torch_debugger.pictures.paint import Floats, largest, number, paint_natural, paint_signed
from torch_debugger.pictures.small_multiples import small_multiples

_WHITE = 1.0
_MOST_CHANNELS = 64  # side by side
_NUMBER = "Behind each filter's number stands its largest |weight|."


@dataclass(frozen=True)
class FilterBank:
    path: str
    kind: str
    weights: Floats  # [filter, channel, kernel ...]
    in_colour: bool
    per: str  # filter | layer: what shares a scale
    channels: tuple[int, ...] = ()
    of: int = 0  # filters that the layer has
    of_channels: int = 0

    def limited(self, most: int, channels: list[int] | None) -> FilterBank:
        """The first ones; of kernels of one weight all, which a matrix has room for."""
        count, inputs = self.weights.shape[:2]
        room = inputs if self.is_matrix else min(inputs, _MOST_CHANNELS)
        chosen = channels if channels is not None else list(range(room))
        kept = self.weights[: None if self.is_matrix else most, chosen]
        in_colour = self.in_colour and channels is None and not self.is_matrix
        return dataclasses.replace(
            self, weights=kept, channels=tuple(chosen), of=count, of_channels=inputs, in_colour=in_colour
        )

    @property
    def is_matrix(self) -> bool:
        return all(size == 1 for size in self.weights.shape[2:])

    @property
    def title(self) -> str:
        count, inputs = self.weights.shape[:2]
        kernel = " x ".join(str(size) for size in self.weights.shape[2:])
        shown = f"{count} of {self.of}" if count < self.of else f"{count}"
        read = f"{inputs} of {self.of_channels}" if inputs < self.of_channels else f"{inputs}"
        return f"Filters of {named(self.path)} ({self.kind}): {shown}, each {read} x {kernel}"

    @property
    def scale(self) -> str:
        return "each on its own scale" if self.per == "filter" else "all on one scale"

    @property
    def words(self) -> list[str]:
        colours = "Red is above zero, blue below, white zero"
        if self.in_colour:
            colours = "Its three channels are red, green and blue, from the least weight to the greatest"
        odd = int((~np.isfinite(self.weights)).sum())
        return [f"{colours}; {self.scale}.", *([f"NaN or Inf, magenta: {odd} of the weights."] if odd else [])]


def draw_filters(bank: FilterBank) -> Figure:
    if bank.is_matrix:
        return _matrix(bank)
    if bank.weights.ndim == 3 and bank.weights.shape[1] == 1:
        return _lines(bank)
    if bank.weights.ndim == 3:
        return _tiles(bank, bank.weights)
    if bank.weights.ndim == 4 and (bank.in_colour or bank.weights.shape[1] == 1):
        return _tiles(bank, bank.weights.transpose(0, 2, 3, 1) if bank.in_colour else bank.weights[:, 0])
    return _strips(bank)


def _tiles(bank: FilterBank, images: Floats) -> Figure:
    painted = _painted(bank, images)
    tiles = [Tile(image, *_label(bank, place)) for place, image in enumerate(painted)]
    return mosaic_figure(bank.title, [Mosaic(tiles)], [*bank.words, _NUMBER])


def _painted(bank: FilterBank, images: Floats) -> list[Floats]:
    """Each image, or all of them together, over their own range."""
    paint_one = paint_natural if bank.in_colour else paint_signed
    return [paint_one(image) for image in images] if bank.per == "filter" else list(paint_one(images))


def _label(bank: FilterBank, place: int) -> tuple[str, str]:
    reach = largest(bank.weights[place])
    if not np.isfinite(bank.weights[place]).all():
        return str(place), "NaN or Inf"
    return (f"{place}  {number(reach)}", "") if reach else (str(place), "all zero")


def _strips(bank: FilterBank) -> Figure:
    """One row a filter, with its channels, or the slices of its depth, side by side."""
    weights, across = bank.weights, "input channel"
    words = bank.words
    if weights.ndim == 5 and (bank.in_colour or weights.shape[1] == 1):
        plates = weights.transpose(0, 2, 3, 4, 1) if bank.in_colour else weights[:, 0]
        across, names = "slice in depth", tuple(range(weights.shape[2]))
    else:
        names = bank.channels
        plates = weights if weights.ndim == 4 else weights[:, :, weights.shape[2] // 2]
        words += [f"Of each kernel its middle slice, {weights.shape[2] // 2}."] if weights.ndim == 5 else []
    sheet = _sheet(_painted(bank, plates))
    height, width = sheet.shape[:2]
    step_in = min(0.11, 11 / width, 14 / height)
    figure = titled_figure(max(4.5, width * step_in + 0.8), height * step_in + 1.4, bank.title)
    axes = plain_axes(figure.add_subplot())
    axes.imshow(sheet, interpolation="nearest" if step_in > 0.03 else "antialiased")
    _number_along(axes.yaxis, range(len(plates)), plates.shape[2] + 1, plates.shape[2])
    _number_along(axes.xaxis, names, plates.shape[3] + 1, plates.shape[3])
    axes.set_xlabel(across, fontsize=8, color=INK)
    axes.set_ylabel("filter", fontsize=8, color=INK)
    put_below(figure, words)
    return figure


def _sheet(rows: list[Floats]) -> Floats:
    """[plate, height, width, 3] each, to one image with white lines between."""
    plates, height, width = rows[0].shape[:3]
    sheet = np.full((len(rows), height + 1, plates, width + 1, 3), _WHITE)
    sheet[:, :height, :, :width] = np.stack(rows).transpose(0, 2, 1, 3, 4)
    return sheet.reshape(len(rows) * (height + 1), plates * (width + 1), 3)[:-1, :-1]


def _number_along(axis: Any, names: Any, step: int, size: int) -> None:
    """At most sixteen numbers, in the middle of what they stand for."""
    every = -(-len(names) // 16)
    chosen = list(range(0, len(names), every))
    axis.set_ticks([place * step + (size - 1) / 2 for place in chosen], [str(names[place]) for place in chosen])


def _lines(bank: FilterBank) -> Figure:
    """Of one input channel and one dimension: a wave each, over the width of its tile."""

    def wave(axes: Any, place: int) -> None:
        axes.plot(bank.weights[place, 0], color=ACCENT, linewidth=1)
        axes.axhline(0, color=PALE, linewidth=0.6, zorder=0)
        reach = largest(bank.weights) or 1.0
        axes.set_ylim(*((-reach, reach) if bank.per == "layer" else (None, None)))

    labels = [" ".join(_label(bank, place)).strip() for place in range(len(bank.weights))]
    words = [f"Weight by position in the kernel, {bank.scale}.", _NUMBER]
    return small_multiples(bank.title, labels, wave, words)


def _matrix(bank: FilterBank) -> Figure:
    table: NDArray[Any] = bank.weights.reshape(*bank.weights.shape[:2])
    height, width = table.shape
    step_in = min(0.2, 8 / width, 8 / height)
    figure = titled_figure(max(5.0, width * step_in + 1.6), max(2.0, height * step_in + 1.2), bank.title)
    axes = plain_axes(figure.add_subplot())
    reach = largest(table)
    axes.imshow(paint_signed(table), interpolation="nearest", aspect="auto")
    axes.set_xlabel("input channel", fontsize=8, color=INK)
    axes.set_ylabel("output channel", fontsize=8, color=INK)
    colour_bar(figure, axes, SIGNED, -reach, reach, "weight")
    return figure
