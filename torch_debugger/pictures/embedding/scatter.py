"""Points of an embedding as a drawing: colours for classes or numbers, small pictures where they are few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from numpy.typing import NDArray

from torch_debugger.pictures.canvas import CYCLE, INK, MAGNITUDE, PALE, new_figure, plain_axes
from torch_debugger.pictures.embedding.projecting import Projection

_MOST_PICTURES = 120
_MOST_CLASSES = 20
_LONGEST = 24
_FONT = 8


def are_numbers(labels: Sequence[Any]) -> bool:
    """Something measured, not a class."""
    return all(isinstance(each, float) for each in labels) and len(set(labels)) > _MOST_CLASSES


def drawn_points(
    title: str,
    caption: str,
    projection: Projection,
    labels: Sequence[Any] | None,
    thumbnails: NDArray[Any] | None,
) -> Figure:
    figure = new_figure(7.6, 6.2, title)
    axes = plain_axes(figure.add_subplot())
    axes.set_xlabel(projection.axes[0], fontsize=_FONT, color=INK)
    axes.set_ylabel(projection.axes[1], fontsize=_FONT, color=INK)
    axes.set_title(caption, fontsize=_FONT, color=INK, loc="left")
    points = projection.points
    if labels is None:
        colours = [CYCLE[0]] * len(points)
        _dots(axes, points, colours)
    elif are_numbers(labels):
        colours = _measured_colours(figure, axes, points, labels)
    else:
        colours = _class_colours(axes, points, labels)
    if thumbnails is not None and len(points) <= _MOST_PICTURES:
        _draw_pictures(axes, points, thumbnails, colours)
    return figure


def _dots(axes: Axes, points: NDArray[Any], colours: Any) -> None:
    size = float(np.clip(20_000 / len(points), 6, 36))
    axes.scatter(points[:, 0], points[:, 1], s=size, c=colours, alpha=0.75, linewidths=0, rasterized=True)


def _measured_colours(figure: Figure, axes: Axes, points: NDArray[Any], labels: Sequence[float]) -> list[Any]:
    values = np.asarray(labels, dtype=np.float64)
    low, high = np.nanmin(values), np.nanmax(values)
    colours = matplotlib.colormaps[MAGNITUDE]((values - low) / max(high - low, 1e-30))
    _dots(axes, points, colours)
    scale = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(low, high), MAGNITUDE)
    bar = figure.colorbar(scale, ax=axes, fraction=0.04, pad=0.02)
    bar.set_label("label", fontsize=_FONT, color=INK)
    bar.ax.tick_params(labelsize=_FONT, colors=INK, length=2)
    return list(colours)


def _class_colours(axes: Axes, points: NDArray[Any], labels: Sequence[Any]) -> list[Any]:
    counts = Counter(labels)
    named = _in_order([each for each, _ in counts.most_common(_MOST_CLASSES)])
    palette = dict(zip(named, _palette(len(named)), strict=True))
    colours = [palette.get(each, PALE) for each in labels]
    _dots(axes, points, colours)  # all at once: a class drawn last would hide the others
    for name in named:
        axes.scatter([], [], c=[palette[name]], label=f"{_short(name)} ({counts[name]:,})")
    if len(counts) > len(named):
        rest = len(labels) - sum(counts[name] for name in named)
        axes.scatter([], [], c=[PALE], label=f"{len(counts) - len(named)} others ({rest:,})")
    legend = axes.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=_FONT, frameon=False, title="label (points)",
        title_fontsize=_FONT, labelcolor=INK, borderaxespad=0,
    )  # fmt: skip
    for written in legend.get_texts():
        written.set_parse_math(False)
    return colours


def _in_order(classes: list[Any]) -> list[Any]:
    try:
        return sorted(classes)
    except TypeError:  # of several kinds
        return sorted(classes, key=str)


def _palette(count: int) -> list[Any]:
    if count <= len(CYCLE):
        return list(CYCLE[:count])
    return list(matplotlib.colormaps["tab10" if count <= 10 else "tab20"].colors[:count])  # type: ignore[attr-defined]


def _short(label: Any) -> str:
    """Cut in the middle: the ends of class names tell them apart."""
    text = " ".join(str(label).split()) or "(empty)"
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}…{text[1 - half :]}"


def _draw_pictures(axes: Axes, points: NDArray[Any], thumbnails: NDArray[Any], colours: list[Any]) -> None:
    axes.margins(0.08)  # room for those at the edge
    for place, image, colour in zip(points, thumbnails, colours, strict=True):
        pixels = np.moveaxis(image, 0, -1)
        pixels = pixels.repeat(3, axis=2) if pixels.shape[2] == 1 else pixels
        shown = OffsetImage(pixels, zoom=22 / max(pixels.shape[:2]))
        edge = {"edgecolor": colour, "linewidth": 1.4}
        axes.add_artist(AnnotationBbox(shown, tuple(place), pad=0.08, bboxprops=edge))
