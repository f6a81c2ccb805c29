"""Many attention maps on one sheet: layers by heads, or one tile for each layer or head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from torch_debugger.pictures.attending.layer_maps import FONT, LayerMaps, colour_bar, colour_scale
from torch_debugger.pictures.attending.maps import Weights
from torch_debugger.pictures.attending.path_labels import path_label
from torch_debugger.pictures.canvas import INK, MAGNITUDE, best_columns, new_figure, tiles

_MOST_ROWS, _MOST_COLUMNS, _MOST_TILES = 24, 16, 36
_SMALLEST_TILE, _LARGEST_TILE, _SHEET = 0.75, 1.5, 9.0  # inches
_GAP = 0.08  # between tiles, as a share of one
_FINEST = 128  # points that a tile can show, along a side


def sheet(title: str, layers: Sequence[LayerMaps], measure: str) -> Figure:
    """A row for each layer, a column for each head; of one layer, or of one head each, just tiles."""
    if len(layers) == 1:
        return _tiles(title, layers, layers[0].heads, list(layers[0].maps), measure)
    if all(len(layer.maps) == 1 for layer in layers):
        names = [path_label(layer.layer, 24) for layer in layers]
        title = f"{title}, {layers[0].heads[0]}"
        return _tiles(title, layers, names, [layer.maps[0] for layer in layers], measure)
    return _rows_and_columns(title, layers, measure)


def _tiles(
    title: str, layers: Sequence[LayerMaps], names: Sequence[str], maps: list[Weights], measure: str
) -> Figure:
    scale = colour_scale(layers, few=False)
    columns = best_columns(min(len(maps), _MOST_TILES))
    shown = [_as_fine_as_seen(each) for each in maps[:_MOST_TILES]]
    tile = max(1.5, 5 / columns)
    figure = tiles(shown, title, names, columns=columns, tile_in=tile, norm=scale, cmap=MAGNITUDE)
    colour_bar(figure, list(figure.axes), scale, measure)
    left_out = [f"the first {len(shown)} of {len(maps)}"] if len(maps) > len(shown) else []
    figure.supxlabel("\n".join([*_sides(layers), *left_out]), fontsize=FONT, color=INK)
    return figure


def _rows_and_columns(title: str, layers: Sequence[LayerMaps], measure: str) -> Figure:
    """All in one frame: hundreds of them would take minutes to lay out."""
    shown = layers[:_MOST_ROWS]
    columns = min(_MOST_COLUMNS, max(len(layer.maps) for layer in shown))
    names = [path_label(layer.layer, 30) for layer in shown]
    tile = min(_LARGEST_TILE, max(_SMALLEST_TILE, _SHEET / max(columns, len(shown))))
    wide = columns * tile + max(map(len, names)) * 0.07 + 1.1
    figure = new_figure(max(5.0, wide), len(shown) * tile + 1.4, title)
    axes = figure.add_subplot()
    scale = colour_scale(shown, few=False)
    for row, layer in enumerate(shown):
        for column, one in enumerate(layer.maps[:columns]):
            edges = (column + _GAP / 2, column + 1 - _GAP / 2, row + 1 - _GAP / 2, row + _GAP / 2)
            axes.imshow(_as_fine_as_seen(one), norm=scale, cmap=MAGNITUDE, extent=edges, aspect="auto")
    axes.set(xlim=(0, columns), ylim=(len(shown), 0))  # an equal aspect would push long names off the edge
    heads = max(shown, key=lambda layer: len(layer.maps)).heads
    axes.set_xticks(np.arange(columns) + 0.5, [head.removeprefix("head ") for head in heads[:columns]])
    axes.set_yticks(np.arange(len(shown)) + 0.5, names, parse_math=False)
    axes.tick_params(length=0, labelsize=FONT, colors=INK)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(_words_below(layers, columns), fontsize=FONT, color=INK)
    colour_bar(figure, axes, scale, measure)
    return figure


def _words_below(layers: Sequence[LayerMaps], columns: int) -> str:
    heads = max(len(layer.maps) for layer in layers)
    lines = ["head", *_sides(layers)]
    if len(layers) > _MOST_ROWS or heads > columns:
        rows = min(len(layers), _MOST_ROWS)
        lines.append(f"the first {rows} of {len(layers)} layers and {columns} of {heads} heads")
    return "\n".join(lines)


def _sides(layers: Sequence[LayerMaps]) -> list[str]:
    """What the sides of each map are."""
    sizes = {layer.maps.shape[1:] for layer in layers}
    longest = max(max(size) for size in sizes)
    finer = [f"each point is the greatest of up to {-(-longest // _FINEST)} by {-(-longest // _FINEST)}"]
    finer = finer if longest > _FINEST else []
    if len(sizes) > 1:
        return ["down: outputs, across: the inputs they look at", *finer]
    out, looked_at = sizes.pop()
    return [f"down: {out} outputs, across: the {looked_at} inputs they look at", *finer]


def _as_fine_as_seen(weights: Weights) -> Weights:
    """The greatest of each block: of a thousand tokens, the mean of a block shows nothing."""
    for axis in (0, 1):
        block = -(-weights.shape[axis] // _FINEST)
        starts = np.arange(0, weights.shape[axis], block)
        weights = np.maximum.reduceat(weights, starts, axis=axis) if block > 1 else weights
    return weights
