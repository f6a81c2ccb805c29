"""What attends to what: weights given or heard in a run of the model, drawn, rolled out, and as a flow."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure
from torch import nn

from torch_debugger.pictures.attention_recording import recorded_maps
from torch_debugger.pictures.attention_weights import Heads, Layers, Weights, chosen_heads, maps_of_weights
from torch_debugger.pictures.figures import INK, MAGNITUDE, best_columns, new_figure, tiles
from torch_debugger.pictures.model_runs import Inputs
from torch_debugger.pictures.picture import Picture
from torch_debugger.system.errors import UsageError


# Which tokens look at which: attention weights as heat maps, given or heard in a run of a model.
class AttentionPicture(Picture):
    """`weights` has one array [N, heads, out, in] for each name in `layers`."""

    layers: tuple[str, ...]
    weights: list[Weights]


def attention(
    source: Any,
    inputs: Inputs | Tokens = None,
    output_tokens: Tokens = None,
    *,
    input_tokens: Tokens = None,
    tokens: Tokens = None,
    layers: Layers = None,
    heads: Heads = None,
    sample: int = 0,
) -> AttentionPicture:
    """Heat maps of attention: weights that you have, or those of every layer and head of a model.

        pictures.attention(weights, input_tokens, output_tokens)        # [out, in], [heads, out, in] ...
        seen = pictures.attention(model, token_ids, tokens=["the", "cat", "sat"])
        seen.weights[0]                                                 # [N, heads, out, in] of seen.layers[0]
        pictures.attention(model, token_ids, layers="encoder.layers.0", heads=[0, 3])

    Weights may also be a list with one tensor for each layer, as Hugging Face models return them. A model is
    run once, in evaluation mode and without a trace; fused attention, which returns no weights, is recomputed
    from its queries and keys. `layers` are paths, patterns, modules or places counted from 0; `heads` are
    places, or "mean" or "max" for one map of all. `sample` is the example of the batch that is drawn.
    """
    words = next((each for each in (input_tokens, tokens) if each is not None), None)
    if isinstance(source, nn.Module):
        maps = recorded_maps(source, inputs, layers)
    else:
        maps = maps_of_weights(source, layers)
        words = inputs if words is None else words
    shapes = {name: (each.shape[2], each.shape[3]) for name, each in zip(maps.layers, maps.weights, strict=True)}
    axes = tokens_of_axes(shapes, words, output_tokens, by_name=isinstance(source, nn.Module))
    shown = []
    for name, weights in zip(maps.layers, maps.of_sample(sample), strict=True):
        shown.append(LayerMaps(name, *chosen_heads(weights, heads, name), axes[name]))
    title = f"Attention of {len(shown)} layers"
    if len(shown) == 1:
        only = shown[0]
        title = "Attention" if only.layer == "attention" else f"Attention of {only.layer}"
        if len(only.heads) == 1 and only.heads != ["head 0"]:
            title += f", {only.heads[0]}"
    title += maps.example(sample)
    arrays = dict(zip(maps.layers, maps.weights, strict=True))
    picture = AttentionPicture(title, arrays, lambda: draw_attention(title, shown))
    picture.layers, picture.weights = maps.layers, list(maps.weights)
    return picture


# Attention maps as drawings: one large with its words, a few side by side, or a sheet of layers and heads.
_SMALLEST_FONT = 5.0
_POINTS_IN = 72
_A_FEW, _FEW_TOKENS = 6, 24  # maps and words that can still be read side by side
_LONGEST_SIDE = 10.4  # inches: 128 words below each other can just be read


def draw_attention(title: str, layers: Sequence[LayerMaps], measure: str = "weight") -> Figure:
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


def _draw_map(axes: Axes, weights: Weights, tokens: AxisTokens, norm: Normalize, inches: tuple[float, float]) -> None:
    axes.imshow(weights, norm=norm, cmap=MAGNITUDE, interpolation="nearest", aspect="auto")
    axes.tick_params(length=2, colors=INK)
    axes.spines[:].set_visible(False)
    out, looked_at = weights.shape
    across = _label(axes.xaxis, "input tokens, looked at", looked_at, tokens.looked_at, inches[0])
    down = _label(axes.yaxis, "output tokens, looking", out, tokens.out, inches[1])
    axes.set_xlabel(across, fontsize=FONT, color=INK)
    axes.set_ylabel(down, fontsize=FONT, color=INK)
    if tokens.looked_at is not None:
        longest = max(len(written(token)) + 2 for token in tokens.looked_at)
        if longest * FONT * 0.6 * len(tokens.looked_at) >= inches[0] * _POINTS_IN:  # no room side by side
            axes.tick_params(axis="x", rotation=90)


def _label(axis: Any, what: str, size: int, tokens: Tokens, inches: float) -> str:
    """Every token where there is room, else every second, third ...; the words for the axis say which."""
    room = inches * _POINTS_IN / size
    step = max(1, math.ceil(_SMALLEST_FONT * 1.15 / room)) if tokens is not None else max(1, round(size / 12))
    places = range(0, size, step)
    words = [written(tokens[place]) if tokens is not None else str(place) for place in places]
    font = min(FONT, max(_SMALLEST_FONT, room * step / 1.15))
    axis.set_ticks(list(places), words, parse_math=False, fontsize=font)
    return what if step == 1 or tokens is None else f"{what} (one of {step} is written)"


# Many attention maps on one sheet: layers by heads, or one tile for each layer or head.
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
    # All in one frame: hundreds of them would take minutes to lay out.
    shown = layers[:_MOST_ROWS]
    most_heads = max(len(layer.maps) for layer in shown)
    columns = min(_MOST_COLUMNS, most_heads)
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
    below = ["head", *_sides(layers)]
    most_heads = max(len(layer.maps) for layer in layers)
    if len(layers) > _MOST_ROWS or most_heads > columns:
        below.append(f"the first {len(shown)} of {len(layers)} layers and {columns} of {most_heads} heads")
    axes.set_xlabel("\n".join(below), fontsize=FONT, color=INK)
    colour_bar(figure, axes, scale, measure)
    return figure


def _tiles(title: str, layers: Sequence[LayerMaps], names: Sequence[str], maps: list[Weights], measure: str) -> Figure:
    scale = colour_scale(layers, few=False)
    columns = best_columns(min(len(maps), _MOST_TILES))
    shown = [_as_fine_as_seen(each) for each in maps[:_MOST_TILES]]
    tile = max(1.5, 5 / columns)
    figure = tiles(shown, title, names, columns=columns, tile_in=tile, norm=scale, cmap=MAGNITUDE)
    colour_bar(figure, list(figure.axes), scale, measure)
    left_out = [f"the first {len(shown)} of {len(maps)}"] if len(maps) > len(shown) else []
    figure.supxlabel("\n".join([*_sides(layers), *left_out]), fontsize=FONT, color=INK)
    return figure


def _sides(layers: Sequence[LayerMaps]) -> list[str]:
    """What the sides of each map are."""
    sizes = {layer.maps.shape[1:] for layer in layers}
    longest = max(max(size) for size in sizes)
    block = -(-longest // _FINEST)
    finer = [f"each point is the greatest of up to {block} by {block}"] if longest > _FINEST else []
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


# What is drawn of a layer, and the scale of colours that all such drawings share.
FONT = 8.0


@dataclass(frozen=True)
class LayerMaps:
    layer: str
    heads: Sequence[str]
    maps: Weights  # [heads, out, in]
    tokens: AxisTokens


def colour_bar(figure: Figure, axes: Axes | list[Axes], norm: Normalize, measure: str) -> None:
    bar = figure.colorbar(ScalarMappable(norm, MAGNITUDE), ax=axes, fraction=0.05, pad=0.02, aspect=25)
    bar.set_label(measure, fontsize=FONT, color=INK)
    bar.ax.tick_params(labelsize=FONT, colors=INK, length=2)
    bar.outline.set_visible(False)


def colour_scale(layers: Sequence[LayerMaps], few: bool) -> Normalize:
    """Of many tokens one often takes almost all, and the rest should still be seen."""
    greatest = max(float(np.nanmax(layer.maps, initial=0.0)) for layer in layers)
    greatest = greatest if math.isfinite(greatest) and greatest > 0 else 1.0
    return Normalize(0, greatest) if few else PowerNorm(0.5, 0, greatest)


# Words along the axes of attention maps: which list belongs to which axis, and how a word is written.
Tokens = Sequence[Any] | None
_LONGEST = 14
_BREAKS = re.compile(r"[\x00-\x1f\x7f]")
_CROSSING = re.compile(r"cross|enc(oder)?_?attn|enc_?dec|multihead_attn|attention2|src_attn", re.IGNORECASE)


class AxisTokens(NamedTuple):
    out: Tokens
    looked_at: Tokens


def tokens_of_axes(
    shapes: dict[str, tuple[int, int]], inputs: Tokens, outputs: Tokens, by_name: bool
) -> dict[str, AxisTokens]:
    """For each layer of [out, in]; a list that fits no axis of any layer is refused.

    `by_name`: the layers are those of a model, and where both lists are of the same length, the name tells
    whether a layer looks from one to the other or stays within one of them.
    """
    inputs, outputs = (None if each is None else list(each) for each in (inputs, outputs))  # told apart below
    found = {name: _of_layer(name if by_name else None, shape, inputs, outputs) for name, shape in shapes.items()}
    for tokens, what in ((inputs, "input tokens"), (outputs, "output tokens")):
        if tokens is not None and not any(tokens is each for pair in found.values() for each in pair):
            name, (out, looked_at) = next(iter(shapes.items()))
            raise UsageError(
                f"there are {len(tokens)} {what}, but in `{name}` {out} outputs look at {looked_at} inputs: "
                "give one token for each of them."
            )
    return found


def _of_layer(name: str | None, shape: tuple[int, int], inputs: Tokens, outputs: Tokens) -> AxisTokens:
    out, looked_at = shape
    if outputs is None:
        return AxisTokens(_fitting(out, inputs), _fitting(looked_at, inputs))
    if name is None:
        return AxisTokens(_fitting(out, outputs), _fitting(looked_at, inputs))
    if out == looked_at and not _CROSSING.search(name):
        within = (outputs, inputs) if "decoder" in name.lower() else (inputs, outputs)
        return AxisTokens(_fitting(out, *within), _fitting(looked_at, *within))
    return AxisTokens(_fitting(out, outputs, inputs), _fitting(looked_at, inputs, outputs))


def _fitting(size: int, *lists: Tokens) -> Tokens:
    return next((each for each in lists if each is not None and len(each) == size), None)


def written(token: Any) -> str:
    """On one line, and cut where it is long."""
    text = _BREAKS.sub(lambda found: repr(found[0])[1:-1], str(token))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


# Paths of modules beside their maps: long ones made short, so that no two of them look alike.
def path_label(path: str, longest: int) -> str:
    """`encoder.b.0.l.0.SelfAttention`: names become initials, from the right, until it fits; then it is cut.

    The numbers and the ends of a path tell layers apart: the decoder's first block from the encoder's.
    """
    parts = path.split(".")
    for place in (*range(len(parts) - 2, 0, -1), 0):
        if len(".".join(parts)) <= longest or len(parts) == 1:
            break
        parts[place] = parts[place] if parts[place].isdigit() else parts[place][:1]
    label = ".".join(parts)
    return label if len(label) <= longest else f"…{label[1 - longest :]}"
