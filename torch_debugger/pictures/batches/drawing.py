"""How a batch is drawn, by its kind, with what there is to say of it below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from torch_debugger.pictures.batches.images import channels_last, displayable
from torch_debugger.pictures.batches.labels import are_many
from torch_debugger.pictures.batches.parts import IMAGES, SERIES, TABLE, Parts
from torch_debugger.pictures.canvas import CYCLE, INK, MAGNITUDE, new_figure, plain_axes
from torch_debugger.pictures.captions import SMALL, height_in, put_below, shortened, titled_figure, wrapped
from torch_debugger.pictures.mosaic import Mosaic, Tile, mosaic_figure
from torch_debugger.pictures.paint import Floats, number, paint
from torch_debugger.pictures.small_multiples import small_multiples

_RED = (0.82, 0.29, 0.36)
_TILE_IN = 1.25
_MOST_LINES = 6  # channels of a series


def draw_batch(
    title: str, parts: Parts, labels: Sequence[str], texts: Sequence[str], words: Sequence[str]
) -> Figure:
    """`labels`, and `texts` of words or ids, are those of the samples to show."""
    if parts.kind == IMAGES:
        images, said = shown_images(parts.inputs, len(labels))
        marked = [_with_target(image, parts.labels, place) for place, image in enumerate(images)]
        tiles = [Tile(image, label) for image, label in zip(marked, numbered(labels), strict=True)]
        wide = _TILE_IN * (1.8 if marked[0].shape[1] > images[0].shape[1] else 1.0)  # a mask stands beside it
        return mosaic_figure(title, [Mosaic(tiles, tile_in=wide)], [*words, *said])
    if parts.kind == SERIES:
        return _series(title, parts.inputs, labels, words)
    if parts.kind == TABLE:
        return _table(title, parts, labels, words)
    return _lines(title, labels, texts, words)


def numbered(labels: Sequence[str]) -> list[str]:
    """0: cat"""
    return [f"{place}: {label}" if label else str(place) for place, label in enumerate(labels)]


def shown_images(values: Any, count: int) -> tuple[list[Floats], list[str]]:
    """The first ones, and what was done so that they can be seen; all share one scale if they have one size."""
    if isinstance(values, list):
        pairs = [shown_images(np.asarray(each)[None], 1) for each in values[:count]]
        return [images[0] for images, _ in pairs], sorted({each for _, said in pairs for each in said})
    images, left_out = channels_last(values)
    shown, done = displayable(images[:count] if len(images) > count else images)
    return list(shown), [*left_out, *done]


def _with_target(image: Floats, labels: Any, place: int) -> Floats:
    """Boxes drawn into it, or a mask of its size beside it."""
    if not are_many(labels) or place >= len(labels):
        return image
    target = labels[place]
    if isinstance(target, Mapping):
        return _boxed(image, target.get("boxes"))
    mask = np.squeeze(np.asarray(target)) if not isinstance(target, str) else np.zeros(())
    if mask.shape != image.shape[:2] or mask.dtype.kind not in "iubf":
        return image
    classes = matplotlib.colormaps["tab20"](np.nan_to_num(mask).astype(int) % 20)[..., :3]
    both: Floats = np.concatenate([image, np.ones((len(image), 2, 3)), classes], axis=1)
    return both


def _boxed(image: Floats, boxes: Any) -> Floats:
    """[left, top, right, bottom] in pixels, as torchvision has them."""
    if boxes is None or np.ndim(boxes) != 2:
        return image
    answer: Floats = image.copy()
    height, width = image.shape[:2]
    for left, top, right, bottom in np.asarray(boxes)[:, :4].round().astype(int):
        x, y = np.clip([left, right], 0, width - 1), np.clip([top, bottom], 0, height - 1)
        answer[y[0] : y[1] + 1, x] = _RED
        answer[y, x[0] : x[1] + 1] = _RED
    return answer


def _series(title: str, values: Any, labels: Sequence[str], words: Sequence[str]) -> Figure:
    channels = values[:, None] if values.ndim == 2 else values
    if channels.shape[1] > channels.shape[2]:  # [N, time, channel]
        channels = channels.transpose(0, 2, 1)
    count = min(_MOST_LINES, channels.shape[1])

    def draw(axes: Axes, place: int) -> None:
        for channel in range(count):
            axes.plot(channels[place, channel], color=CYCLE[channel], linewidth=0.9)
        low, high = axes.get_ylim()
        axes.set_yticks([low, high], [number(low), number(high)], fontsize=6)
        axes.tick_params(axis="y", direction="in", pad=-2)
        for tick, edge in zip(axes.get_yticklabels(), ("bottom", "top"), strict=True):
            tick.set(horizontalalignment="left", verticalalignment=edge)

    more = [f"The first {count} of {channels.shape[1]} channels."] if count < channels.shape[1] else []
    words = [*words, *more, "Values over time, each sample over its own range."]
    return small_multiples(title, numbered(labels), draw, words, columns=4, size_in=(2.0, 0.8))


def _table(title: str, parts: Parts, labels: Sequence[str], words: Sequence[str]) -> Figure:
    """Each column over its own range, which stands below it."""
    shown: Floats = parts.inputs[: len(labels)].astype(np.float64)
    whole: Floats = np.where(np.isfinite(parts.inputs), parts.inputs, np.nan).astype(np.float64)
    low, high = np.nanmin(whole, axis=0), np.nanmax(whole, axis=0)
    rows, columns = shown.shape
    figure = titled_figure(max(6.0, min(15.0, 0.32 * columns + 1.6)), 0.22 * rows + 2.4, title)
    axes = plain_axes(figure.add_subplot())
    unit = (shown - low) / np.where(high > low, high - low, 1.0)
    axes.imshow(paint(unit, MAGNITUDE, 0.0, 1.0), aspect="auto", interpolation="nearest")
    every = -(-columns // 45)
    names = parts.columns or tuple(str(place) for place in range(columns))
    ticks = [
        f"{shortened(names[place], 14)}  {number(low[place])}…{number(high[place])}"
        for place in range(0, columns, every)
    ]
    axes.set_xticks(range(0, columns, every), ticks, rotation=90, fontsize=7)
    axes.set_yticks(range(rows), numbered(labels), fontsize=7)
    axes.set_xlabel("column, and its range in the batch", fontsize=8, color=INK)
    axes.set_ylabel("sample: label" if any(labels) else "sample", fontsize=8, color=INK)
    put_below(
        figure, [*words, "Each column from its least (dark) to its greatest value (bright); NaN in magenta."]
    )
    return figure


def _lines(title: str, labels: Sequence[str], texts: Sequence[str], words: Sequence[str]) -> Figure:
    """One line of text a sample, its label in front."""
    width = 9.0
    below = wrapped(words, width - 0.2)
    total = 0.45 + 0.2 * len(texts) + 0.15 + height_in(below)
    figure = new_figure(width, total, title)
    figure.set_layout_engine("none")
    names = numbered(labels)
    left = 0.1 + 0.075 * max(map(len, names))
    for place, (label, text) in enumerate(zip(names, texts, strict=True)):
        height = 1 - (0.45 + 0.2 * place) / total
        room = int((width - left - 0.4) / 0.067)
        shown = text if len(text) <= room else f"{text[: room - 1]}…"
        figure.text(0.1 / width, height, label, size=SMALL, color=CYCLE[0], va="top", parse_math=False)
        figure.text(
            (left + 0.15) / width, height, shown, size=SMALL, color=INK, va="top", parse_math=False,
            family="monospace",
        )  # fmt: skip
    figure.text(
        0.1 / width, 0.06 / total, "\n".join(below), size=SMALL, color=INK, va="bottom", parse_math=False
    )
    return figure
