"""What climbing found, drawn: images as tiles, signals as curves, each with how strongly it excites."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from torch_debugger.pictures.canvas import CYCLE, INK, SIGNED, best_columns, new_figure, plain_axes, tiles
from torch_debugger.pictures.captions import put_below
from torch_debugger.pictures.maximizing.fourier_images import FourierImages
from torch_debugger.pictures.maximizing.goals import Goal
from torch_debugger.pictures.mosaic import even_columns
from torch_debugger.pictures.picture import Picture

_TOLD = ("The numbers: the activation, and the strongest that noise gave.",)


@dataclass(frozen=True)
class Climbed:
    form: FourierImages
    images: torch.Tensor  # [goals, C, ...], as the model takes them
    activations: torch.Tensor  # [goals]
    noise: torch.Tensor  # [goals, images of noise]

    @classmethod
    def joined(cls, parts: Sequence[Climbed]) -> Climbed:
        tensors = [(part.images, part.activations, part.noise) for part in parts]
        return cls(parts[0].form, *(torch.cat(each).cpu() for each in zip(*tensors, strict=True)))

    def told(self, place: int) -> str:
        """What stands above an image: a unit that no image moves is dead."""
        reached, usual = float(self.activations[place]), float(self.noise[place].max())
        if reached == usual == float(self.noise[place].min()):
            return f"always {reached:.3g}: dead"
        return f"{reached:.3g} (noise {usual:.2g})"

    def unit_images(self) -> NDArray[Any]:
        """0 to 1 in the range that the values may have."""
        form = self.form
        unit: NDArray[Any] = ((self.images - form.low.cpu()) / (form.high - form.low).cpu()).numpy()
        return unit


def climbed_picture(path: str, goals: Sequence[Goal], climbed: Climbed) -> Picture:
    where = f"layer {path}" if path else "the model's output"
    title = f"What excites {where} most"
    labels = [f"{goal}\n{climbed.told(place)}" for place, goal in enumerate(goals)]
    arrays = {
        "images": climbed.images.numpy(),
        "activations": climbed.activations.numpy(),
        "noise": climbed.noise.amax(1).numpy(),
    }
    draw = _images if len(climbed.form.size) > 2 else _curves
    return Picture(title, arrays, lambda: draw(title, labels, climbed))


def _images(title: str, labels: Sequence[str], climbed: Climbed) -> Figure:
    shown = climbed.unit_images()
    if shown.ndim == 5:
        title += " (the middle slice)"
        shown = shown[:, :, shown.shape[2] // 2]
    if shown.shape[1] not in (1, 3):
        title += f" (mean of {shown.shape[1]} channels)"
    painted = shown.transpose(0, 2, 3, 1) if shown.shape[1] == 3 else shown.mean(1)
    grid: dict[str, Any] = {"columns": even_columns(len(painted)), "tile_in": 1.35, "cmap": "gray"}
    figure = tiles(list(painted), title, labels, **grid, vmin=0, vmax=1)
    put_below(figure, _TOLD)
    return figure


def _curves(title: str, labels: Sequence[str], climbed: Climbed) -> Figure:
    """A vector has one curve over its features, a signal one for each channel over time."""
    signals = climbed.images.numpy()
    signals = signals[:, None] if signals.ndim == 2 else signals
    columns = min(3, 2 if len(signals) in (2, 4) else best_columns(len(signals)))
    rows = math.ceil(len(signals) / columns)
    figure = new_figure(max(4.0, 2.8 * columns), 1.5 * rows + 0.7, title)
    for place, channels in enumerate(signals):
        axes = plain_axes(figure.add_subplot(rows, columns, place + 1))
        _draw_channels(axes, channels)
        axes.set_title(labels[place].replace("\n", ": "), fontsize=8, color=INK, loc="left")
    named = "time" if climbed.images.dim() == 3 else "feature"
    shown = "value" if len(signals[0]) <= len(CYCLE) else "channel of the input, red above its middle"
    figure.supxlabel(named, fontsize=8, color=INK)
    figure.supylabel(shown, fontsize=8, color=INK)
    if 1 < len(signals[0]) <= len(CYCLE):
        lines = figure.axes[0].get_lines()
        figure.legend(
            lines,
            [f"input channel {n}" for n in range(len(lines))],
            loc="upper right",
            fontsize=7,
            ncols=3,
            frameon=False,
        )
    return figure


def _draw_channels(axes: Axes, channels: NDArray[Any]) -> None:
    if len(channels) > len(CYCLE):
        apart = channels - channels.mean()
        reach = np.abs(apart).max() or 1.0
        axes.imshow(apart, cmap=SIGNED, vmin=-reach, vmax=reach, aspect="auto", interpolation="nearest")
        return
    for number, channel in enumerate(channels):
        axes.plot(np.arange(len(channel)), channel, color=CYCLE[number], linewidth=1.2)
