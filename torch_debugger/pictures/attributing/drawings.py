"""How attributions of images, series and tables are drawn: blue against, red for the score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from torch_debugger.pictures.canvas import (
    ACCENT,
    HEAT,
    INK,
    SECOND,
    SIGNED,
    image_axes,
    new_figure,
    plain_axes,
    say_beside,
)
from torch_debugger.pictures.shown_images import ShownImages

Rows = Sequence[tuple[int, str]]  # example, and what is said about it
_CLIPPED = 99.5  # percentile where colours end: a few large pixels would leave the rest pale
_MOST_FEATURES = 16
_MOST_CURVES = 4


def colours(values: NDArray[Any], *, on_white: bool = False) -> dict[str, Any]:
    """For imshow: white is zero where both signs occur or curves lie over it, black where one does."""
    end = float(np.percentile(np.abs(values), _CLIPPED)) or float(np.abs(values).max()) or 1.0
    if on_white or (values < 0).any():
        return {"cmap": SIGNED, "vmin": -end, "vmax": end}
    return {"cmap": HEAT, "vmin": 0, "vmax": end}


def draw_images(title: str, images: ShownImages, found: NDArray[Any], rows: Rows) -> Figure:
    """Image and attribution side by side; the sum over channels, each row in colours of its own range."""
    high, wide = found.shape[-2:]
    tall = min(2.0, max(0.5, high / wide))
    figure = new_figure(6.0, len(rows) * (1.9 * tall + 0.15) + 0.75, title)
    axes = figure.subplots(len(rows), 3, squeeze=False, width_ratios=(0.45, 1, 1.1))
    for row, (example, label) in enumerate(rows):
        summed = found[row].sum(axis=0)
        heads = ("image", "attribution, summed over channels") if row == 0 else ("", "")
        say_beside(axes[row][0], *label.split("\n"))
        image_axes(axes[row][1], heads[0]).imshow(images[example])
        drawn = image_axes(axes[row][2], heads[1]).imshow(summed, **colours(summed))
        bar = figure.colorbar(drawn, ax=axes[row][2], fraction=0.05)
        bar.ax.tick_params(labelsize=6)
        bar.ax.ticklabel_format(axis="y", scilimits=(-2, 3))
        bar.ax.yaxis.get_offset_text().set_fontsize(6)
    return figure


def draw_bars(
    title: str, features: Sequence[str] | None, values: NDArray[Any], found: NDArray[Any], rows: Rows
) -> Figure:
    """The largest attributions of each example, with the value that each number has."""
    count = min(found.shape[1], _MOST_FEATURES)
    figure = new_figure(6.4, len(rows) * (0.22 * count + 0.7) + 0.5, title)
    for row, (example, label) in enumerate(rows):
        axes = plain_axes(figure.add_subplot(len(rows), 1, row + 1))
        largest = np.argsort(-np.abs(found[row]))[:count][::-1]
        sizes = found[row][largest]
        axes.barh(range(count), sizes, color=np.where(sizes < 0, ACCENT, SECOND).tolist(), height=0.7)
        names = [str(features[each]) if features is not None else f"[{each}]" for each in largest]
        axes.set_yticks(
            range(count),
            [f"{name} = {values[example][each]:.3g}" for name, each in zip(names, largest, strict=True)],
        )
        axes.axvline(0, color=INK, linewidth=0.6)
        axes.set_title(label.replace("\n", ", "), fontsize=8, color=INK, loc="left")
        axes.set_xlabel("attribution", fontsize=8, color=INK)
    return figure


def draw_series(
    title: str, values: NDArray[Any], found: NDArray[Any], rows: Rows, measure: str = "attribution"
) -> Figure:
    """Curves on a ground coloured by their attributions; many channels as a map."""
    figure = new_figure(7.5, len(rows) * 1.6 + 0.8, title)
    for row, (example, label) in enumerate(rows):
        axes = plain_axes(figure.add_subplot(len(rows), 1, row + 1))
        ground, curves = _along_time(found[row]), _along_time(values[example])
        if len(ground) <= _MOST_CURVES:
            low, high = float(curves.min()), float(curves.max())
            edge = 0.05 * (high - low) or 1.0
            extent = (-0.5, ground.shape[1] - 0.5, low - edge, high + edge)
            drawn = axes.imshow(
                ground.sum(axis=0, keepdims=True),
                aspect="auto",
                extent=extent,
                alpha=0.6,
                **colours(ground.sum(axis=0), on_white=True),
            )
            axes.plot(curves.T, color=INK, linewidth=0.9)
            axes.set_ylabel("value", fontsize=8, color=INK)
        else:
            drawn = axes.imshow(ground, aspect="auto", interpolation="nearest", **colours(ground))
            axes.set_ylabel("channel", fontsize=8, color=INK)
        axes.set_title(label.replace("\n", ", "), fontsize=8, color=INK, loc="left")
        bar = figure.colorbar(drawn, ax=axes, fraction=0.03)
        bar.set_label(measure, fontsize=7, color=INK)
        bar.ax.tick_params(labelsize=6)
        if ground.min() >= 0:
            bar.ax.set_ylim(bottom=0)
    axes.set_xlabel("place in the series", fontsize=8, color=INK)
    return figure


def _along_time(values: NDArray[Any]) -> NDArray[Any]:
    """[channels, places]: the longer axis is time."""
    flat = values.reshape(1, -1) if values.ndim == 1 else values.reshape(values.shape[0], -1)
    return flat.T if flat.shape[0] > flat.shape[1] else flat
