"""Activation maximization: the image that a channel, a unit, a logit or a layer answers to most strongly."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import nn

from torch_debugger.model.reruns import randomness_kept
from torch_debugger.pictures.figures import CYCLE, INK, SIGNED, best_columns, new_figure, plain_axes, put_below, tiles
from torch_debugger.pictures.image_grids import even_columns
from torch_debugger.pictures.image_optimization import (
    INTEGERS,
    FourierImages,
    ImageClimb,
    ImageSlot,
    SmallMoves,
    ValueRange,
    image_slot,
    refuse_tokens,
)
from torch_debugger.pictures.layer_units import (
    Goal,
    ReachedLayer,
    Which,
    checked_goals,
    first_known,
    reach,
    requested_goals,
)
from torch_debugger.pictures.model_runs import Layer
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.target_gradients import for_gradients
from torch_debugger.system.errors import UsageError

# The image that excites a channel, a unit, a logit or a layer most: climbed from noise.
_AT_ONCE = 16  # images: more are climbed in turn, so that memory stays bounded


def maximize(
    model: nn.Module,
    layer: Layer = "",
    unit: Which | None = None,
    *,
    channel: int | Iterable[int] | None = None,
    channels: Iterable[int] | None = None,
    logit: int | Iterable[int] | None = None,
    input_size: Sequence[int] = (3, 64, 64),
    like: Any = None,
    value_range: ValueRange | None = None,
    steps: int = 256,
    shift: float = 1 / 16,
    turn: float = 8.0,
    zoom: float = 0.1,
    total_variation: float = 2.0,
    l2: float = 0.1,
    seed: int = 0,
) -> Picture:
    """Images, climbed from noise, that a part of the model answers to as strongly as it can.

        pictures.maximize(model, "layer2.0.conv1", channels=range(16), like=images).save("wants.png")
        pictures.maximize(model, logit=[3, 7], like=images)          # what a class looks like to the model
        pictures.maximize(model, "conv1", 5)                         # channel 5, as channel=5
        pictures.maximize(model, "conv1", (5, 8, 8))                 # its unit at row 8, column 8, as unit=
        pictures.maximize(model, "layer3", input_size=(3, 128, 128)) # the whole layer, as in deep dream
        pictures.maximize(model, "conv1", channel=0, input_size=(1, 400))   # a signal

    `like` is a batch as the model takes it (other inputs stay as they are in it), with or without labels, or
    the loader that gives it: it tells size and range of values. Without it images have `input_size` and, unless
    `value_range` says otherwise, values of -2.5 to 2.5. Each step moves the images a little (`shift` and `zoom`
    as shares of the size, `turn` in degrees) and holds `total_variation` and `l2` against them; 0 switches each
    off. The forward ends at the layer, the model is left as it was, and the same seed gives the same images.
    The arrays that come back: `images`, `activations` (of a channel at its strongest position) and `noise`, the
    strongest that the same part gave for noise.
    """
    goals = requested_goals(unit, channel, channels, logit)
    if steps < 0:
        raise UsageError(f"steps is how often the images are changed, but it is {steps}.")
    with for_gradients(model) as inner:
        slot = image_slot(inner, input_size, like)
        images = slot.images(value_range)
        generator = torch.Generator().manual_seed(seed)
        tried = images.in_range(images.waves(images.parameters(2, 1.0, generator))).requires_grad_()
        reached = _reach(inner, layer, slot, tried, like is None)
        goals = checked_goals(goals, reached.cut.path, reached.output, reached.layout)
        moves = SmallMoves(shift, turn, zoom, generator)
        climbed = _climb(ImageClimb(reached, slot, images, moves, total_variation, l2), goals, steps, seed)
    return climbed_picture(reached.cut.path, goals, climbed)


def _reach(model: nn.Module, layer: Layer, slot: ImageSlot, images: torch.Tensor, made_up: bool) -> ReachedLayer:
    """An input of our own making that does not fit is our fault, not the model's."""
    embeddings = [each for each in model.modules() if isinstance(each, (nn.Embedding, nn.EmbeddingBag))]
    handles = [each.register_forward_pre_hook(refuse_tokens) for each in embeddings]
    try:
        return reach(model, layer, slot.filled(images[:1]), slot.filled(images))
    except UsageError:
        raise
    except Exception as error:
        if not made_up:
            raise
        if isinstance(first_known(model), nn.Embedding):
            raise UsageError(INTEGERS) from error
        size, why = tuple(images.shape[1:]), str(error).rstrip(".")
        raise UsageError(
            f"the model cannot take an input of size {size}: {type(error).__name__}: {why}. "
            "Give like=, a batch as the model takes it, or another input_size."
        ) from error
    finally:
        for handle in handles:
            handle.remove()


def _climb(climb: ImageClimb, goals: Sequence[Goal], steps: int, seed: int) -> Climbed:
    """Each group begins with the same noise and is moved alike: a goal gets the same in any company, but for
    rounding."""
    groups = [goals[start : start + _AT_ONCE] for start in range(0, len(goals), _AT_ONCE)]
    found = []
    with progress_bar(f"climbing for {climb.reached.cut.path or 'the output'}", steps * len(groups)) as tick:
        for group in groups:
            climb.moves.generator.manual_seed(seed)
            noise = climb.noise(group, climb.moves.generator)
            parameters = noise.best()
            scored = climb.wake(parameters, noise, steps)
            climb.up(parameters, scored, steps, tick)
            images = climb.shown(parameters).detach()
            activations = scored.activations(climb.output(images).detach())
            found.append(Climbed(climb.images, images, activations, noise.activations))
    tensors = [(part.images, part.activations, part.noise) for part in found]
    return Climbed(climb.images, *(torch.cat(each).cpu() for each in zip(*tensors, strict=True)))


# What climbing found, drawn: images as tiles, signals as curves, each with how strongly it excites.
_LEGEND = ("The numbers: the activation, and the strongest that noise gave.",)


@dataclass(frozen=True)
class Climbed:
    form: FourierImages
    images: torch.Tensor  # [goals, C, ...], as the model takes them
    activations: torch.Tensor  # [goals]
    noise: torch.Tensor  # [goals, images of noise]

    def label(self, place: int) -> str:
        """What stands above an image: a unit that no image moves is dead."""
        reached, usual = float(self.activations[place]), float(self.noise[place].max())
        if reached == usual == float(self.noise[place].min()):
            return f"always {reached:.3g}: dead"
        return f"{reached:.3g} (noise {usual:.2g})"


def climbed_picture(path: str, goals: Sequence[Goal], climbed: Climbed) -> Picture:
    where = f"layer {path}" if path else "the model's output"
    title = f"What excites {where} most"
    labels = [f"{goal}\n{climbed.label(place)}" for place, goal in enumerate(goals)]
    arrays = {
        "images": climbed.images.numpy(),
        "activations": climbed.activations.numpy(),
        "noise": climbed.noise.amax(1).numpy(),
    }
    draw = _images if len(climbed.form.size) > 2 else _curves
    return Picture(title, arrays, lambda: draw(title, labels, climbed))


def _images(title: str, labels: Sequence[str], climbed: Climbed) -> Figure:
    form = climbed.form  # 0 to 1 in the range that the values may have
    shown: NDArray[Any] = ((climbed.images - form.low.cpu()) / (form.high - form.low).cpu()).numpy()
    if shown.ndim == 5:
        title += " (the middle slice)"
        shown = shown[:, :, shown.shape[2] // 2]
    if shown.shape[1] not in (1, 3):
        title += f" (mean of {shown.shape[1]} channels)"
    painted = shown.transpose(0, 2, 3, 1) if shown.shape[1] == 3 else shown.mean(1)
    grid: dict[str, Any] = {"columns": even_columns(len(painted)), "tile_in": 1.35, "cmap": "gray"}
    figure = tiles(list(painted), title, labels, **grid, vmin=0, vmax=1)
    put_below(figure, _LEGEND)
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
        if len(channels) > len(CYCLE):
            apart = channels - channels.mean()
            reach = np.abs(apart).max() or 1.0
            axes.imshow(apart, cmap=SIGNED, vmin=-reach, vmax=reach, aspect="auto", interpolation="nearest")
        else:
            for number, channel in enumerate(channels):
                axes.plot(np.arange(len(channel)), channel, color=CYCLE[number], linewidth=1.2)
        axes.set_title(labels[place].replace("\n", ": "), fontsize=8, color=INK, loc="left")
    named = "time" if climbed.images.dim() == 3 else "feature"
    shown = "value" if len(signals[0]) <= len(CYCLE) else "channel of the input, red above its middle"
    figure.supxlabel(named, fontsize=8, color=INK)
    figure.supylabel(shown, fontsize=8, color=INK)
    if 1 < len(signals[0]) <= len(CYCLE):
        lines = figure.axes[0].get_lines()
        names = [f"input channel {n}" for n in range(len(lines))]
        figure.legend(lines, names, loc="upper right", fontsize=7, ncols=3, frameon=False)
    return figure


# A bar for what takes seconds: on a terminal only, and gone when it is done.
@contextlib.contextmanager
def progress_bar(words: str, total: int | None) -> Iterator[Callable[[], None]]:
    """The function that comes back is called after every step; off a terminal nothing is written."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    with randomness_kept():  # rich draws a number when it is imported
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(words, total=total)
        yield lambda: bar.advance(task)
