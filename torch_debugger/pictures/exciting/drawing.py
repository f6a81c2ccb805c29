"""The most exciting examples, drawn: images with a frame, text with a mark, series with a stretch of time."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from torch_debugger.pictures.canvas import CYCLE, INK, SECOND, new_figure, plain_axes, tiles, to_unit
from torch_debugger.pictures.captions import put_below
from torch_debugger.pictures.exciting.looking import box, shown_tensor
from torch_debugger.pictures.exciting.marked_text import marked_text
from torch_debugger.pictures.exciting.ranking import Exciting
from torch_debugger.pictures.maximizing.goals import Goal
from torch_debugger.pictures.mosaic import even_columns

Words = Sequence[str] | Callable[[int], str] | None


@dataclass(frozen=True)
class Shown:
    path: str
    goal: Goal
    found: Sequence[Exciting]
    weights: Sequence[torch.Tensor]  # of each example, one for each of its places
    series: bool  # [T, F]: channels come last
    words: Words
    read: int

    def title(self) -> str:
        where = f"layer {self.path}" if self.path else "the model's output"
        return f"What excites {self.goal} of {where} most, of {self.read:,} examples"

    def label(self, place: int) -> str:
        """Which example, what it is, and how strong: a unit that is 0 everywhere is said to be."""
        one = self.found[place]
        named = "" if one.label is None else f" ({str(one.label)[:12]})"
        silent = (
            "0 here and everywhere" if one.strength == 0 == self.found[0].strength else f"{one.strength:.3g}"
        )
        return f"example {one.number}{named}: {silent}"

    def tensors(self) -> list[torch.Tensor]:
        return [shown_tensor(one.inputs)[0].detach().cpu() for one in self.found]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Left out where examples differ in length."""
        together = {"examples": self.tensors(), "weights": list(self.weights)}
        return {
            name: torch.stack([each.float() if each.dtype == torch.bfloat16 else each for each in some]).numpy()
            for name, some in together.items()
            if len({each.shape for each in some}) == 1
        }


def drawn(shown: Shown) -> Figure:
    first = shown.tensors()[0]
    if not first.is_floating_point() and first.dim() == 1:
        labels = [shown.label(place) for place in range(len(shown.found))]
        return marked_text(shown.title(), labels, shown.tensors(), shown.weights, shown.words)
    return _images(shown) if first.dim() == 3 else _curves(shown)


def _images(shown: Shown) -> Figure:
    images = [to_unit(each.float().numpy()) for each in shown.tensors()]
    painted = [image.transpose(1, 2, 0) if len(image) == 3 else image.mean(0) for image in images]
    labels = [shown.label(place).replace(": ", "\n") for place in range(len(painted))]
    figure = tiles(
        painted,
        "\n".join(textwrap.wrap(shown.title(), 46)),
        labels,
        columns=even_columns(len(painted)),
        tile_in=1.45,
        cmap="gray",
    )
    for axes, weights in zip(figure.axes, shown.weights, strict=True):
        (top, bottom), (left, right) = box(weights)
        corner, size = (left - 0.5, top - 0.5), (right - left + 1, bottom - top + 1)
        for colour, width in (("white", 2.6), (SECOND, 1.4)):  # seen on any ground
            axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=colour, linewidth=width))
    put_below(figure, ["The frame holds nine tenths of what moves the unit, by the gradient."])
    return figure


def _curves(shown: Shown) -> Figure:
    columns = 1 if len(shown.found) < 2 else 2 if len(shown.found) < 6 else 3
    rows = math.ceil(len(shown.found) / columns)
    figure = new_figure(
        max(4.5, 2.8 * columns), 1.4 * rows + 0.8, "\n".join(textwrap.wrap(shown.title(), 30 * columns))
    )
    for place, example in enumerate(shown.tensors()):
        axes = plain_axes(figure.add_subplot(rows, columns, place + 1))
        _draw_series(axes, example.float().T if shown.series else example.float(), shown.weights[place])
        axes.set_title(shown.label(place), fontsize=8, color=INK, loc="left").set_parse_math(False)
    named = "time" if shown.tensors()[0].dim() > 1 else "feature"
    put_below(figure, [f"Across: {named}. The tint holds nine tenths of what moves the unit, by the gradient."])
    figure.supylabel("value", fontsize=8, color=INK)
    return figure


def _draw_series(axes: Axes, channels: torch.Tensor, weights: torch.Tensor) -> None:
    """The stretch that moves the unit is tinted."""
    ((first, last),) = box(weights)
    axes.axvspan(first - 0.5, last + 0.5, color=SECOND, alpha=0.18, linewidth=0)
    for number, channel in enumerate(channels if channels.dim() > 1 else channels[None]):
        axes.plot(np.arange(len(channel)), channel.numpy(), color=CYCLE[number % len(CYCLE)], linewidth=1.0)
