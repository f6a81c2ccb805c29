"""Attention maps as drawings: one large with its words, a few side by side, or a sheet of layers and heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from torch_debugger.pictures.attending.layer_maps import FONT, LayerMaps, colour_bar, colour_scale
from torch_debugger.pictures.attending.maps import Weights
from torch_debugger.pictures.attending.path_labels import path_label
from torch_debugger.pictures.attending.sheets import sheet
from torch_debugger.pictures.attending.tokens import AxisTokens, Tokens, written
from torch_debugger.pictures.canvas import INK, MAGNITUDE, new_figure

_SMALLEST_FONT = 5.0
_POINTS_IN = 72
_A_FEW, _FEW_TOKENS = 6, 24  # maps and words that can still be read side by side
_LONGEST_SIDE = 10.4  # inches: 128 words below each other can just be read


def drawn(title: str, layers: Sequence[LayerMaps], measure: str = "weight") -> Figure:
    count = sum(len(layer.maps) for layer in layers)
    longest = max(max(layer.maps.shape[1:]) for layer in layers)
    if count == 1:
        return _one(title, layers[0], measure)
    if count <= _A_FEW and longest <= _FEW_TOKENS:
        return _side_by_side(title, layers, measure)
    return sheet(title, layers, measure)


def _one(title: str, layer: LayerMaps, measure: str) -> Figure:
    out, looked_at = layer.maps.shape[1:]
    wide, tall = (min(_LONGEST_SIDE, 0.8 if size == 1 else max(2.6, 0.27 * size)) for size in (looked_at, out))
    margin = 0.9 if any(tokens is not None for tokens in layer.tokens) else 0.6
    figure = new_figure(max(5.0, wide + margin + 0.9), tall + margin + 0.5, title)
    axes = figure.add_subplot()
    norm = colour_scale([layer], few=max(out, looked_at) <= _FEW_TOKENS)
    _draw_map(axes, layer.maps[0], layer.tokens, norm, (wide, tall))
    colour_bar(figure, axes, norm, measure)
    return figure


def _side_by_side(title: str, layers: Sequence[LayerMaps], measure: str) -> Figure:
    each = [(layer, place) for layer in layers for place in range(len(layer.maps))]
    columns = len(each) if len(each) < 4 else math.ceil(len(each) / 2)
    rows = math.ceil(len(each) / columns)
    sides = [min(4.0, max(2.0, 0.24 * max(layer.maps.shape[axis] for layer in layers))) for axis in (1, 2)]
    figure = new_figure(columns * (sides[1] + 0.8) + 0.8, rows * (sides[0] + 1.0) + 0.5, title)
    norm = colour_scale(layers, few=True)
    all_axes = []
    for place, (layer, head) in enumerate(each):
        axes = figure.add_subplot(rows, columns, place + 1)
        _draw_map(axes, layer.maps[head], layer.tokens, norm, (sides[1], sides[0]))
        name = [] if len(layers) == 1 else [path_label(layer.layer, 34)]
        axes.set_title("\n".join([*name, layer.heads[head]]), fontsize=FONT, color=INK, parse_math=False)
        all_axes.append(axes)
    colour_bar(figure, all_axes, norm, measure)
    return figure


def _draw_map(
    axes: Axes, weights: Weights, tokens: AxisTokens, norm: Normalize, inches: tuple[float, float]
) -> None:
    axes.imshow(weights, norm=norm, cmap=MAGNITUDE, interpolation="nearest", aspect="auto")
    axes.tick_params(length=2, colors=INK)
    axes.spines[:].set_visible(False)
    out, looked_at = weights.shape
    across = _label(axes.xaxis, looked_at, tokens.looked_at, inches[0])
    down = _label(axes.yaxis, out, tokens.out, inches[1])
    axes.set_xlabel(_axis_words("input tokens, looked at", across), fontsize=FONT, color=INK)
    axes.set_ylabel(_axis_words("output tokens, looking", down), fontsize=FONT, color=INK)
    if tokens.looked_at is not None and not _side_by_side_fit(tokens.looked_at, inches[0]):
        axes.tick_params(axis="x", rotation=90)


def _side_by_side_fit(tokens: Sequence[Any], inches: float) -> bool:
    return max(len(written(token)) + 2 for token in tokens) * FONT * 0.6 * len(tokens) < inches * _POINTS_IN


def _label(axis: Any, size: int, tokens: Tokens, inches: float) -> int:
    """Every token where there is room, else every second, third ...; which, comes back."""
    room = inches * _POINTS_IN / size
    step = max(1, math.ceil(_SMALLEST_FONT * 1.15 / room)) if tokens is not None else max(1, round(size / 12))
    places = range(0, size, step)
    words = [written(tokens[place]) if tokens is not None else str(place) for place in places]
    font = min(FONT, max(_SMALLEST_FONT, room * step / 1.15))
    axis.set_ticks(list(places), words, parse_math=False, fontsize=font)
    return step if tokens is not None else 1


def _axis_words(what: str, step: int) -> str:
    return what if step == 1 else f"{what} (one of {step} is written)"
