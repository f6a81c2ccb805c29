"""How our pictures look: one kind of figure, one set of colours, tiles in a grid."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
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
    lines = _title_lines(title, width_in)
    height_in += _TITLE_LINE_IN * max(0, len(lines) - 1 - title.count("\n"))
    figure = Figure(figsize=(width_in, height_in), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    if title:
        figure.suptitle("\n".join(lines), fontsize=_TITLE, color=INK, x=0.01, ha="left")
    return figure


def _title_lines(title: str, width_in: float) -> list[str]:
    room = int(_TITLE_LETTERS * width_in)
    return [part for line in title.split("\n") for part in textwrap.wrap(line, room, break_on_hyphens=False)]


def say_below(figure: Figure, note: str) -> Figure:
    """What must be known about a picture, in a small line under it."""
    if note:
        figure.supxlabel(note, fontsize=_LABEL, color=INK, x=0.01, ha="left")
    return figure


def plain_axes(axes: Axes) -> Axes:
    """A frame of two lines, small labels, for curves and bars."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(PALE)
    axes.tick_params(colors=INK, labelsize=_LABEL, length=3)
    return axes


def image_axes(axes: Axes, label: str = "") -> Axes:
    """No ticks and no frame, for a tile."""
    axes.set_axis_off()
    if label:
        axes.set_title(label, fontsize=_LABEL, color=INK, pad=3)
    return axes


def say_beside(axes: Axes, *lines: str) -> None:
    """What a row of tiles is about, in the empty axes at its left."""
    image_axes(axes).text(
        1.0, 0.5, "\n".join(_short(line) for line in lines if line), transform=axes.transAxes,
        ha="right", va="center", fontsize=_LABEL, color=INK,
    )  # fmt: skip


def _short(line: str, longest: int = 18) -> str:
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


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
        axes = image_axes(
            figure.add_subplot(rows, columns, place + 1), labels[place] if place < len(labels) else ""
        )
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
