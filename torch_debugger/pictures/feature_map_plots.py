"""What layers hold and give, as images: filters of weights, maps of outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import nn

from torch_debugger.pictures.figures import (
    INK,
    MAGNITUDE,
    SIGNED,
    Floats,
    as_array,
    colour_bar,
    largest,
    named,
    number,
    paint_map,
    plain_axes,
    put_below,
    titled_figure,
)
from torch_debugger.pictures.image_grids import Mosaic, Tile, mosaic_figure
from torch_debugger.pictures.model_runs import (
    Inputs,
    SeveralLayers,
    as_batch,
    chosen_samples,
    image_size,
    record_layers,
)
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.token_grids import laid_in, patch_grid
from torch_debugger.system.errors import UsageError

# What layers give for an input, as images.
_MOST_BLOCKS = 40


def feature_maps(
    model: nn.Module,
    x: Inputs,
    layers: SeveralLayers,
    *,
    sample: int | Sequence[int] = 0,
    most: int = 32,
) -> Picture:
    """What one layer, or several, give for an input: one map a channel, the strongest first.

        feature_maps(model, images, "layer1").save("maps.png")
        feature_maps(model, images, ["conv1", "layer2.*"], sample=[0, 3], most=16)

    The model runs once in evaluation mode and is left as it was. Each map has its own range, which stands
    above it; one that is zero everywhere is called dead. Tokens of a model that reads images are shown at
    the places of their patches, sequences as time by unit. `arrays` has all channels of each layer, by path.
    """
    if most < 1:
        raise UsageError(f"most= is the number of maps to show of each layer, at least 1, not {most}.")
    image = image_size(as_batch(model, x))

    def keep(module: nn.Module, output: torch.Tensor) -> MapLayout | None:
        layout = laid_out(module, output, image)
        return None if layout is None else MapLayout(layout.kind, layout.values.clone(), layout.remark)

    recorded = record_layers(model, x, layers, keep, last_only=True)
    places = {path: layout for path, layout in recorded.items() if layout is not None}
    if not places:
        raise UsageError(f"{named(next(iter(recorded)))} gives one number for each sample: there is no map to draw.")
    drawn = []
    for path, layout in places.items():
        chosen = chosen_samples(sample, len(layout.values))
        values = as_array(layout.values[chosen])
        strength = np.abs(np.where(np.isfinite(values), values, 0)).reshape(*values.shape[:2], -1).mean(axis=2)
        order = np.argsort(-strength, axis=1, kind="stable")[:, :most]
        if values.shape[1] <= most:
            order = np.sort(order, axis=1)
        drawn.append(LayerFeatureMaps(path, layout.kind, values, tuple(chosen), order, layout.remark))
    if sum(len(maps.samples) for maps in drawn) > _MOST_BLOCKS:
        raise UsageError(
            f"{len(drawn)} layers are too many for one picture: name those to see, at most {_MOST_BLOCKS} "
            "layers and samples together."
        )
    title = f"Feature maps of {', '.join(named(maps.path) for maps in drawn[:3])}"
    title += f" and {len(drawn) - 3} more" if len(drawn) > 3 else ""
    return Picture(title, {maps.path: maps.values for maps in drawn}, lambda: draw_maps(title, drawn))


# How feature maps are drawn: tiles, or a heat map of units by time.
@dataclass(frozen=True)
class LayerFeatureMaps:
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


def draw_maps(title: str, layers: Sequence[LayerFeatureMaps]) -> Figure:
    if not any(layer.kind == IMAGES for layer in layers):
        return _heat_maps(title, layers)
    blocks = [_block(layer, place) for layer in layers for place in range(len(layer.samples))]
    own = "each map over its own range, which stands above it"
    signed = [layer.signed for layer in layers]
    said = [] if all(signed) else [f"Dark is zero, bright the map's greatest value; {own}."]
    said += [f"Red is above zero, blue below, white zero; {own}."] if any(signed) else []
    return mosaic_figure(title, blocks, said)


def _block(layer: LayerFeatureMaps, place: int) -> Mosaic:
    if layer.kind != IMAGES:
        table = layer.values[place][layer.shown[place]].reshape(layer.shown.shape[1], -1)
        across = "units from left to right" if layer.kind == ROW else "units down, time across"
        image = paint_map(table.T if layer.kind == ROW else table, layer.signed)
        return Mosaic([Tile(image, across)], layer.heading(place), columns=1, tile_in=4.3)
    tiles = []
    for channel in layer.shown[place]:
        values = layer.values[place, channel]
        image, finite = paint_map(values, layer.signed), values[np.isfinite(values)]
        if finite.size < values.size:
            tiles.append(Tile(image, str(channel), "NaN or Inf"))
        elif layer.dead[place, channel]:
            tiles.append(Tile(np.full((*values.shape, 3), 0.85), str(channel), "dead"))
        else:
            tiles.append(Tile(image, f"{channel}  {number(finite.min())}…{number(finite.max())}"))
    return Mosaic(tiles, layer.heading(place))


def _heat_maps(title: str, layers: Sequence[LayerFeatureMaps]) -> Figure:
    """One under the other; rows without time have their samples there instead."""
    panels: list[tuple[Floats, str, str, str, Sequence[Any]]] = []  # table, heading, across, down, names of its rows
    for layer in layers:
        if layer.kind == ROW:
            heading = f"{named(layer.path)}: {layer.values.shape[1]} units"
            panels.append((layer.values, heading, "unit", "sample", layer.samples))
            continue
        for place, shown in enumerate(layer.shown):
            panels.append((layer.values[place][shown], layer.heading(place), "time", "unit", shown))
    heights = [min(3.2, max(0.9, 0.12 * table.shape[0])) for table, *_ in panels]
    figure = titled_figure(7.5, sum(heights) + 0.75 * len(panels) + 0.7, title)
    places = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for axes, (table, heading, across, down, ticks) in zip(places, panels, strict=True):
        plain_axes(axes, across, down)
        signed = bool((table < 0).any())
        reach = largest(table)
        axes.imshow(paint_map(table, signed), aspect="auto", interpolation="nearest")
        axes.set_title(heading, fontsize=8, color=INK, loc="left").set_parse_math(False)
        every = -(-len(ticks) // 12)
        axes.set_yticks(range(0, len(ticks), every), [str(tick) for tick in ticks[::every]])
        low, colours = (-reach, SIGNED) if signed else (0.0, MAGNITUDE)
        colour_bar(figure, axes, colours, low, reach, "value")
    put_below(figure, ["NaN and Inf are magenta."] if any(not np.isfinite(panel[0]).all() for panel in panels) else [])
    return figure


# A layer's output as maps: which of its dimensions are channels, which are places.
IMAGES, TIMELINE, ROW = "maps", "timeline", "row"


@dataclass(frozen=True)
class MapLayout:
    kind: str  # maps: [sample, channel, height, width]; timeline: [sample, unit, time]; row: [sample, unit]
    values: torch.Tensor
    remark: str = ""


def laid_out(module: nn.Module, output: torch.Tensor, image: tuple[int, int] | None) -> MapLayout | None:
    """None where there are no places and no units: one number a sample."""
    if output.dim() == 5:
        middle = output.shape[2] // 2
        return MapLayout(IMAGES, output[:, :, middle], f"slice {middle} of {output.shape[2]} in depth")
    if output.dim() == 4:
        # Channels come second, unless only the two dimensions before the last have the image's form.
        if image is not None and output.shape[1] <= image[0]:
            fits = [high * image[1] == wide * image[0] for high, wide in (output.shape[1:3], output.shape[2:4])]
            if fits == [True, False]:
                return MapLayout(IMAGES, output.permute(0, 3, 1, 2), "channels last")
        return MapLayout(IMAGES, output)
    if output.dim() == 3:
        # [sample, token, unit] of a model that is given images
        grid = patch_grid(output.shape[1], image) if image is not None else None
        if grid is not None:
            first = f", without the first {grid.extra} token{'s'[: grid.extra != 1]}" if grid.extra else ""
            return MapLayout(IMAGES, laid_in(grid, output), f"tokens as places{first}")
        # Layers of one dimension have their channels before the time, all others behind.
        channels_second = type(module).__name__.endswith("1d")
        return MapLayout(TIMELINE, output if channels_second else output.transpose(1, 2))
    return MapLayout(ROW, output) if output.dim() == 2 and output.shape[1] > 1 else None
