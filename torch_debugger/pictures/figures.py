"""How our pictures look: one kind of figure, one set of colours, tiles in a grid."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

INK, PALE, ACCENT, SECOND = "#1d2733", "#c9d1d9", "#1f6feb", "#d1495b"
CYCLE = (ACCENT, SECOND, "#2a9d8f", "#e9a03b", "#7b5ea7", "#5c6b7a")
MAGNITUDE = "viridis"  # colour-blind safe, dark is little
SIGNED = "RdBu_r"  # white is zero, always drawn over a symmetric range
HEAT = "inferno"  # over a photograph
_TITLE, _LABEL = 11, 8
_TITLE_LETTERS, _TITLE_LINE_IN = 12, 0.19  # letters that an inch holds, and the height of a line


def new_figure(width_in: float, height_in: float, title: str = "") -> Figure:
    """Without pyplot, which would keep it and may need a screen. A long title takes several lines, and the
    figure grows by them."""
    room = int(_TITLE_LETTERS * width_in)
    lines = [part for line in title.split("\n") for part in textwrap.wrap(line, room, break_on_hyphens=False)]
    height_in += _TITLE_LINE_IN * max(0, len(lines) - 1 - title.count("\n"))
    figure = Figure(figsize=(width_in, height_in), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    if title:
        figure.suptitle("\n".join(lines), fontsize=_TITLE, color=INK, x=0.01, ha="left")
    return figure


def say_below(figure: Figure, note: str) -> Figure:
    """What must be known about a picture, in a small line under it."""
    if note:
        figure.supxlabel(note, fontsize=_LABEL, color=INK, x=0.01, ha="left")
    return figure


def plain_axes(axes: Axes, across: str = "", down: str = "") -> Axes:
    """A frame of two lines, small labels, for curves and bars; what its sides are, where that is said."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(PALE)
    axes.tick_params(colors=INK, labelsize=_LABEL, length=3)
    if across:
        axes.set_xlabel(across, fontsize=_LABEL, color=INK)
    if down:
        axes.set_ylabel(down, fontsize=_LABEL, color=INK)
    return axes


def image_axes(axes: Axes, label: str = "") -> Axes:
    """No ticks and no frame, for a tile."""
    axes.set_axis_off()
    if label:
        axes.set_title(label, fontsize=_LABEL, color=INK, pad=3)
    return axes


def say_beside(axes: Axes, *lines: str) -> None:
    """What a row of tiles is about, in the empty axes at its left."""
    shown = [line if len(line) <= 18 else f"{line[:17]}…" for line in lines if line]
    image_axes(axes).text(
        1.0, 0.5, "\n".join(shown), transform=axes.transAxes, ha="right", va="center", fontsize=_LABEL, color=INK
    )


def tiles(
    images: Sequence[NDArray[Any]],
    title: str,
    labels: Sequence[str] = (),
    *,
    columns: int | None = None,
    tile_in: float = 1.2,
    **shown: Any,
) -> Figure:
    """Images [H, W] or [H, W, 3] in a grid, drawn with `imshow(**shown)`."""
    columns = min(columns or best_columns(len(images)), len(images))
    rows = math.ceil(len(images) / columns)
    height, width = images[0].shape[:2]
    tall = min(2.0, max(0.5, height / max(1, width)))
    figure = new_figure(max(3.0, columns * tile_in), rows * (tile_in * tall + 0.25) + 0.45, title)
    for place, image in enumerate(images):
        axes = image_axes(figure.add_subplot(rows, columns, place + 1), labels[place] if place < len(labels) else "")
        axes.imshow(image, **({"interpolation": "nearest"} | shown))
    return figure


def best_columns(count: int) -> int:
    """About as wide as a page: 9 for 64, 4 for 12."""
    return max(1, min(12, math.ceil(math.sqrt(count * 1.2))))


def to_unit(array: NDArray[Any]) -> NDArray[np.float64]:
    """From least to greatest into 0 to 1; a constant becomes 0.5, what is not finite NaN."""
    values = np.asarray(array, dtype=np.float64)
    values = np.where(np.isfinite(values), values, np.nan)
    if np.isnan(values).all():
        return values
    low, high = np.nanmin(values), np.nanmax(values)
    unit: NDArray[np.float64] = (values - low) / (high - low) if high > low else values * 0 + 0.5
    return unit


# Sentences in a picture: wrapped to its width, and taken as they are, without mathematics in dollars.
SMALL, LARGE = 8.0, 11.0  # points
LINE = 1.45  # from line to line, in heights of a letter
_LETTER = 0.56  # mean width of a letter, in heights


def wrapped(sentences: Sequence[str], width_in: float, points: float = SMALL) -> list[str]:
    """Lines, each sentence beginning a new one."""
    room = max(20, int(width_in * 72 / (points * _LETTER)))
    return [line for sentence in sentences for line in textwrap.wrap(sentence, room) or [""]]


def height_in(lines: Sequence[str], points: float = SMALL) -> float:
    return len(lines) * points * LINE / 72


def put_below(figure: Figure, sentences: Sequence[str]) -> None:
    """Where the layout makes room for them."""
    if sentences:
        lines = "\n".join(wrapped(sentences, figure.get_figwidth() - 0.2))
        below = figure.supxlabel(lines, x=0.01, ha="left", fontsize=SMALL, color=INK, linespacing=LINE * 0.83)
        below.set_parse_math(False)


def titled_figure(width_in: float, height_in: float, title: str) -> Figure:
    """One whose layout makes room, also for a long title."""
    lines = wrapped([title], width_in - 0.2, LARGE)
    return new_figure(width_in, height_in + (len(lines) - 1) * LARGE * LINE / 72, "\n".join(lines))


def shortened(name: str, letters: int) -> str:
    """A path that is too long loses its beginning: …layers.11.mlp.fc1"""
    return name if len(name) <= letters else f"…{name[1 - letters :]}"


def named(path: str) -> str:
    return f"`{path}`" if path else "the model"


# Numbers to colours: an array becomes red, green and blue, and what is no number stands out.
Floats = NDArray[np.float64]
_NOT_FINITE_COLOUR = (1.0, 0.0, 1.0)  # NaN and Inf: a colour that no map of ours has


def as_array(tensor: torch.Tensor) -> Floats:
    """Of any dtype, layout and device."""
    values = tensor.detach()
    values = values.dequantize() if values.is_quantized else values.to_dense()
    array: Floats = (values.abs() if values.is_complex() else values).to(torch.float64).cpu().numpy()
    return array


def paint(values: NDArray[Any], colours: str, low: float, high: float) -> Floats:
    """[...] to [..., 3], from `low` to `high`."""
    unit = (np.asarray(values, dtype=np.float64) - low) / ((high - low) or 1.0)
    rgb: Floats = matplotlib.colormaps[colours](np.where(np.isfinite(unit), unit, 0.0))[..., :3]
    rgb[~np.isfinite(unit)] = _NOT_FINITE_COLOUR
    return rgb


def paint_signed(values: NDArray[Any], reach: float | None = None) -> Floats:
    """White is zero, blue below, red above; up to the greatest of these values, or to `reach`."""
    reach = (largest(values) if reach is None else reach) or 1.0
    return paint(values, SIGNED, -reach, reach)


def paint_map(values: NDArray[Any], signed: bool) -> Floats:
    """Over its own range: around zero, or from zero up where nothing is negative."""
    return paint_signed(values) if signed else paint(values, MAGNITUDE, 0.0, largest(values))


def paint_natural(values: NDArray[Any]) -> Floats:
    """[..., 3] taken as red, green and blue, from the least to the greatest."""
    unit = to_unit(values)
    unit[np.isnan(unit).any(axis=-1)] = _NOT_FINITE_COLOUR
    return unit


def largest(values: NDArray[Any]) -> float:
    """The greatest magnitude among those that are finite; 0 where there are none."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0


def number(value: float) -> str:
    """As short as it can be read: 0.12, 3.4e-05, 1200"""
    return f"{value:.2g}" if abs(value) < 100 or abs(value) >= 1e5 else f"{value:.0f}"


# What the colours of painted numbers stand for, beside them.
def colour_bar(figure: Figure, axes: Axes, colours: str, low: float, high: float, label: str) -> None:
    bar = figure.colorbar(ScalarMappable(Normalize(low, high or 1.0), colours), ax=axes, fraction=0.04, pad=0.02)
    bar.set_label(label, fontsize=8, color=INK)
    bar.ax.tick_params(labelsize=7, colors=INK)
    bar.outline.set_visible(False)
