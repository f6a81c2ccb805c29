"""How feature maps are drawn: tiles, or a heat map of units by time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from torch_debugger.pictures.canvas import INK, MAGNITUDE, SIGNED, plain_axes
from torch_debugger.pictures.captions import named, put_below, titled_figure
from torch_debugger.pictures.maps.colour_bars import colour_bar
from torch_debugger.pictures.maps.map_layouts import IMAGES, ROW
from torch_debugger.pictures.mosaic import Mosaic, Tile, mosaic_figure
from torch_debugger.pictures.paint import Floats, largest, number, paint_map


@dataclass(frozen=True)
class LayerMaps:
    path: str
    kind: str  # see map_layouts
    values: Floats  # [sample, channel, ...], all channels
    samples: tuple[int, ...]
    shown: NDArray[np.int64]  # [sample, place]: channels in the order in which they are drawn
    remark: str

    @property
    def signed(self) -> bool:
        return bool((self.values < 0).any())

    @property
    def dead(self) -> NDArray[np.bool_]:
        """[sample, channel]"""
        dead: NDArray[np.bool_] = (self.values == 0).reshape(*self.values.shape[:2], -1).all(axis=2)
        return dead

    def heading(self, place: int) -> str:
        channels, shown = self.values.shape[1], self.shown.shape[1]
        size = " x ".join(str(length) for length in self.values.shape[2:])
        what = f"{channels} maps of {size}" if self.kind == IMAGES else f"{channels} units"
        some = f", the {shown} strongest" if shown < channels else ""
        dead = int(self.dead[place].sum())
        lost = f"; {dead} dead: zero everywhere" if dead else ""
        remark = f" ({self.remark})" if self.remark else ""
        return f"{named(self.path)}, sample {self.samples[place]}: {what}{remark}{some}{lost}"


def draw_maps(title: str, layers: Sequence[LayerMaps]) -> Figure:
    if any(layer.kind == IMAGES for layer in layers):
        blocks = [_block(layer, place) for layer, place in _each(layers)]
        return mosaic_figure(title, blocks, _words(layers))
    return _heat_maps(title, layers)


def _block(layer: LayerMaps, place: int) -> Mosaic:
    if layer.kind == IMAGES:
        return Mosaic(_tiles(layer, place), layer.heading(place))
    table = layer.values[place][layer.shown[place]].reshape(layer.shown.shape[1], -1)
    across = "units from left to right" if layer.kind == ROW else "units down, time across"
    image = paint_map(table.T if layer.kind == ROW else table, layer.signed)
    return Mosaic([Tile(image, across)], layer.heading(place), columns=1, tile_in=4.3)


def _each(layers: Sequence[LayerMaps]) -> Iterator[tuple[LayerMaps, int]]:
    return ((layer, place) for layer in layers for place in range(len(layer.samples)))


def _tiles(layer: LayerMaps, place: int) -> list[Tile]:
    return [_tile(layer, place, channel) for channel in layer.shown[place]]


def _tile(layer: LayerMaps, place: int, channel: int) -> Tile:
    values = layer.values[place, channel]
    finite = values[np.isfinite(values)]
    if finite.size < values.size:
        return Tile(paint_map(values, layer.signed), str(channel), "NaN or Inf")
    if layer.dead[place, channel]:
        return Tile(np.full((*values.shape, 3), 0.85), str(channel), "dead")
    return Tile(paint_map(values, layer.signed), f"{channel}  {number(finite.min())}…{number(finite.max())}")


def _words(layers: Sequence[LayerMaps]) -> list[str]:
    own = "each map over its own range, which stands above it"
    signed = [layer.signed for layer in layers]
    said = []
    if not all(signed):
        said.append(f"Dark is zero, bright the map's greatest value; {own}.")
    if any(signed):
        said.append(f"Red is above zero, blue below, white zero; {own}.")
    return said


def _heat_maps(title: str, layers: Sequence[LayerMaps]) -> Figure:
    """One under the other; rows without time have their samples there instead."""
    panels = [panel for layer in layers for panel in _panels(layer)]
    heights = [min(3.2, max(0.9, 0.12 * table.shape[0])) for table, *_ in panels]
    figure = titled_figure(7.5, sum(heights) + 0.75 * len(panels) + 0.7, title)
    places = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for axes, (table, heading, across, down, ticks) in zip(places, panels, strict=True):
        plain_axes(axes)
        signed = bool((table < 0).any())
        reach = largest(table)
        axes.imshow(paint_map(table, signed), aspect="auto", interpolation="nearest")
        axes.set_title(heading, fontsize=8, color=INK, loc="left").set_parse_math(False)
        axes.set_xlabel(across, fontsize=8, color=INK)
        axes.set_ylabel(down, fontsize=8, color=INK)
        every = -(-len(ticks) // 12)
        axes.set_yticks(range(0, len(ticks), every), [str(tick) for tick in ticks[::every]])
        low, colours = (-reach, SIGNED) if signed else (0.0, MAGNITUDE)
        colour_bar(figure, axes, colours, low, reach, "value")
    put_below(
        figure, ["NaN and Inf are magenta."] if any(not np.isfinite(panel[0]).all() for panel in panels) else []
    )
    return figure


def _panels(layer: LayerMaps) -> list[tuple[Floats, str, str, str, Sequence[Any]]]:
    """The table, its heading, the names of its axes, and what its rows are called."""
    if layer.kind == ROW:
        heading = f"{named(layer.path)}: {layer.values.shape[1]} units"
        return [(layer.values, heading, "unit", "sample", layer.samples)]
    return [
        (layer.values[place][layer.shown[place]], layer.heading(place), "time", "unit", layer.shown[place])
        for place in range(len(layer.samples))
    ]
