"""The weights of a layer as images: what each of its filters looks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import nn
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from torch_debugger.model.layers import clean_path, one_layer
from torch_debugger.pictures.figures import (
    ACCENT,
    PALE,
    SIGNED,
    Floats,
    as_array,
    colour_bar,
    largest,
    number,
    paint_natural,
    paint_signed,
    plain_axes,
    put_below,
    titled_figure,
)
from torch_debugger.pictures.figures import named as called
from torch_debugger.pictures.image_grids import Mosaic, Tile, mosaic_figure, small_multiples
from torch_debugger.pictures.model_runs import Layer, for_a_picture
from torch_debugger.pictures.picture import Picture
from torch_debugger.system.errors import UsageError

Shape = Sequence[int]
_SCALES = ("filter", "layer")


def filters(
    model: nn.Module,
    layer: Layer | None = None,
    *,
    most: int = 64,
    per: str = "filter",
    channels: int | Sequence[int] | None = None,
    shape: Shape | None = None,
) -> Picture:
    """The filters of a convolution, by default of the model's first.

        filters(model).save("filters.png")
        filters(model, "features.3", per="layer")      # all on one scale
        filters(model, "features.3", channels=[0, 5])  # of these input channels
        filters(model, "fc1", shape=(1, 28, 28))       # a Linear that reads flattened images

    Filters of three input channels are shown in colour, others channel by channel, red above zero and
    blue below. Kernels of one weight make one matrix, output by input channel; of a transposed convolution
    one sees what each input channel writes. `arrays["filters"]` has the weights, [filter, channel, ...].
    """
    if per not in _SCALES:
        raise UsageError(f'per= is "filter" (each on its own scale) or "layer" (all on one), not {per!r}.')
    if most < 1:
        raise UsageError(f"most= is the number of filters to show, at least 1, not {most}.")
    with for_a_picture(model) as inner:
        path, module = _first(inner, shape) if layer is None else one_layer(inner, layer)
        weights = _weights(path, module, shape)
    count, inputs = weights.shape[:2]
    is_matrix = all(size == 1 for size in weights.shape[2:])
    if channels is None:  # a matrix has room for all
        chosen = list(range(inputs if is_matrix else min(inputs, _MOST_CHANNELS)))
    else:
        chosen = [channels] if isinstance(channels, int) else list(channels)
        for channel in chosen:
            if not -inputs <= channel < inputs:
                raise UsageError(f"{called(path)} has the channels 0 to {inputs - 1}; there is no {channel}.")
        chosen = [int(channel) % inputs for channel in chosen]
    # Three channels that belong together: not those of a group, which are three of many.
    in_colour = inputs == 3 and getattr(module, "groups", 1) == 1 and weights.dim() > 3
    kind = type(module).__name__
    if isinstance(module, _ConvTransposeNd):
        kind += ", what each input channel writes"
    bank = FilterBank(
        path,
        kind,
        as_array(weights)[: None if is_matrix else most, chosen],
        in_colour and channels is None and not is_matrix,
        per,
        tuple(chosen),
        of=count,
        of_channels=inputs,
    )
    return Picture(bank.title, {"filters": bank.weights}, lambda: draw_filters(bank))


def _first(model: nn.Module, shape: Shape | None) -> tuple[str, nn.Module]:
    """The first convolution; where a shape is given, the first Linear that reads such images."""
    named = [(clean_path(path), module) for path, module in model.named_modules()]
    if shape is None:
        fitting = [pair for pair in named if _has_kernels(pair[1])]
    else:
        count = math.prod(shape)
        fitting = [pair for pair in named if isinstance(pair[1], nn.Linear) and pair[1].in_features == count]
    if fitting:
        return fitting[0]
    linear = next((f"`{path}`" for path, module in named if isinstance(module, nn.Linear)), "")
    if shape is not None:
        raise UsageError(f"no Linear layer of this model reads {math.prod(shape)} numbers, as {tuple(shape)} has.")
    hint = f" To see what {linear} reads as images, give shape=(channels, height, width)." if linear else ""
    raise UsageError(f"this model has no convolution.{hint}")


def _has_kernels(module: nn.Module) -> bool:
    weight = module._parameters.get("weight")
    return isinstance(module, _ConvNd) or (weight is not None and 3 <= weight.dim() <= 5)


def _weights(path: str, module: nn.Module, shape: Shape | None) -> torch.Tensor:
    """[filter, channel, kernel ...]"""
    weight = getattr(module, "weight", None)
    if not isinstance(weight, torch.Tensor) or weight.dim() < 2:
        parts = [f"`{path}.{clean_path(name)}`" for name, part in module.named_modules() if _has_kernels(part)]
        inside = f" It holds {', '.join(parts[:3])}." if parts else ""
        raise UsageError(f"{called(path)} is a {type(module).__name__}, which has no filters.{inside}")
    if weight.is_meta:
        raise UsageError(f"{called(path)} is on the meta device: its weights hold no values to show.")
    if weight.dim() > 5:
        raise UsageError(f"the weight of {called(path)} has {weight.dim()} dimensions; filters have 3 to 5.")
    if weight.dim() > 2:
        if shape is not None:
            kind = type(module).__name__
            raise UsageError(f"shape= is for Linear layers; {called(path)} is a {kind} and has its own.")
        return weight
    if shape is None:
        raise UsageError(
            f"{called(path)} reads {weight.shape[1]} numbers: say what image they are, "
            "such as filters(model, layer, shape=(1, 28, 28))."
        )
    sizes = (1, *shape) if len(shape) == 2 else tuple(shape)
    if len(sizes) != 3 or math.prod(sizes) != weight.shape[1]:
        raise UsageError(
            f"shape={tuple(shape)} has {math.prod(shape)} numbers, but {called(path)} reads {weight.shape[1]}: "
            "expected (channels, height, width) of what it reads."
        )
    images = weight.reshape(-1, *sizes)
    return images.permute(0, 3, 1, 2) if sizes[2] in (1, 3) and sizes[0] not in (1, 3) else images


# How filters are drawn: tiles in colour, tiles around zero, lines, a strip of channels, or one matrix.
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
    channels: tuple[int, ...]
    of: int  # filters that the layer has
    of_channels: int

    @property
    def is_matrix(self) -> bool:
        return all(size == 1 for size in self.weights.shape[2:])

    @property
    def title(self) -> str:
        count, inputs = self.weights.shape[:2]
        kernel = " x ".join(str(size) for size in self.weights.shape[2:])
        shown = f"{count} of {self.of}" if count < self.of else f"{count}"
        read = f"{inputs} of {self.of_channels}" if inputs < self.of_channels else f"{inputs}"
        return f"Filters of {called(self.path)} ({self.kind}): {shown}, each {read} x {kernel}"

    @property
    def scale(self) -> str:
        return "each on its own scale" if self.per == "filter" else "all on one scale"

    @property
    def words(self) -> list[str]:
        colours = "Red is above zero, blue below, white zero"
        if self.in_colour:
            colours = "Its three channels are red, green and blue, from the least weight to the greatest"
        not_finite = int((~np.isfinite(self.weights)).sum())
        return [
            f"{colours}; {self.scale}.",
            *([f"NaN or Inf, magenta: {not_finite} of the weights."] if not_finite else []),
        ]


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
    # One image of [plate, height, width, 3] each, with white lines between.
    rows = _painted(bank, plates)
    count, size, wide = rows[0].shape[:3]
    lined = np.full((len(rows), size + 1, count, wide + 1, 3), _WHITE)
    lined[:, :size, :, :wide] = np.stack(rows).transpose(0, 2, 1, 3, 4)
    sheet = lined.reshape(len(rows) * (size + 1), count * (wide + 1), 3)[:-1, :-1]
    height, width = sheet.shape[:2]
    step_in = min(0.11, 11 / width, 14 / height)
    figure = titled_figure(max(4.5, width * step_in + 0.8), height * step_in + 1.4, bank.title)
    axes = plain_axes(figure.add_subplot(), across, "filter")
    axes.imshow(sheet, interpolation="nearest" if step_in > 0.03 else "antialiased")
    _number_along(axes.yaxis, range(len(plates)), plates.shape[2] + 1, plates.shape[2])
    _number_along(axes.xaxis, names, plates.shape[3] + 1, plates.shape[3])
    put_below(figure, words)
    return figure


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
    axes = plain_axes(figure.add_subplot(), "input channel", "output channel")
    reach = largest(table)
    axes.imshow(paint_signed(table), interpolation="nearest", aspect="auto")
    colour_bar(figure, axes, SIGNED, -reach, reach, "weight")
    return figure
