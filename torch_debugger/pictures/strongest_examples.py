"""Which of your examples excite a unit most, and where in them it looks."""

from __future__ import annotations

import contextlib
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from torch import nn

from torch_debugger.model.nested_tensors import copied, exchanged, tensors_in
from torch_debugger.pictures.dataloader_batches import Batch, batches, loader_untouched
from torch_debugger.pictures.figures import CYCLE, INK, SECOND, new_figure, plain_axes, put_below, tiles, to_unit
from torch_debugger.pictures.image_grids import even_columns
from torch_debugger.pictures.layer_units import (
    Goal,
    ReachedLayer,
    Which,
    checked_goals,
    reach,
    requested_goals,
    takes_series,
)
from torch_debugger.pictures.model_runs import Layer
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.target_gradients import for_gradients
from torch_debugger.system.errors import UsageError


# The examples of a loader that excite a unit most.
def top_examples(
    model: nn.Module,
    loader: Any,
    layer: Layer = "",
    unit: Which | None = None,
    *,
    channel: int | None = None,
    logit: int | None = None,
    count: int = 9,
    words: Words = None,
) -> Picture:
    """The examples of your data that a unit answers to most strongly, and where in them it looks.

        pictures.top_examples(model, loader, "layer3.0", 17)            # channel 17, wherever it is strongest
        pictures.top_examples(model, loader, "conv1", (5, 8, 8))        # its unit at row 8, column 8
        pictures.top_examples(model, loader, logit=3)                   # a class; channel= and unit= as well
        pictures.top_examples(language_model, loader, "blocks.3.mlp", 200, words=vocabulary)

    `loader` is anything that gives batches, a dataset, or inputs themselves; it is read once, in order, and
    only `count` examples are kept. Images show a frame around what moves the unit, text the token it is
    strongest at, series the stretch of time. `words` names tokens: a list, or a function such as a tokenizer's
    decode. The arrays that come back: `examples`, `strengths`, `numbers` (in the loader's order), `places` (in
    the layer's map) and `weights`, how much each place of an example counts.
    """
    goals = requested_goals(unit, channel, None, logit)
    if len(goals) > 1:
        raise UsageError(f"examples are shown for one unit at a time, but {len(goals)} came.")
    if goals[0].kind == "layer":
        raise UsageError("say which unit: top_examples(model, loader, layer, 17), or channel=17, or logit=3.")
    if count < 1:
        raise UsageError(f"count is how many examples to show, but it is {count}.")
    with loader_untouched(loader), for_gradients(model) as inner:
        with torch.no_grad():
            ranking = Ranking(inner, layer, goals[0], count)
            for batch in batches(inner, loader):
                ranking.see(batch)
        if ranking.reached is None:
            raise UsageError("there was no batch: the loader is empty, or it was an iterator that is used up.")
        path, goal, found = ranking.reached.cut.path, ranking.goal, ranking.strongest
        weights = [looks_at(inner, ranking.reached, goal, each).cpu() for each in found]
        series = takes_series(inner, shown_tensor(found[0].inputs))
    shown = ShownExamples(path, goal, found, weights, series, words, ranking.read)
    arrays = {
        "strengths": np.array([each.strength for each in found]),
        "numbers": np.array([each.number for each in found]),
        "places": np.array([each.place for each in found]),
        **shown.arrays(),
    }
    return Picture(shown.title(), arrays, lambda: draw_examples(shown))


# The strongest examples of a loader: it is read once, in order, and only these are kept.
@dataclass(frozen=True)
class RankedExample:
    """One example, as a batch of one."""

    number: int  # in the order of the loader
    strength: float
    place: tuple[int, ...]  # where in the unit's map it is strongest; empty where there is only one value
    map: torch.Tensor  # [positions ...]
    inputs: Any
    label: Any


class Ranking:
    """Reads batches and keeps as many of the strongest as asked for; of equals the first."""

    def __init__(self, model: nn.Module, layer: Layer, goal: Goal, count: int) -> None:
        self._model, self._layer, self.goal, self._count = model, layer, goal, count
        self.reached: ReachedLayer | None = None
        self.strongest: list[RankedExample] = []
        self.read = 0

    def see(self, batch: Batch) -> None:
        inputs = batch.inputs
        if self.reached is None:
            reached = reach(self._model, self._layer, _row(inputs, 0, batch.examples), copied(inputs))
            (self.goal,) = checked_goals([self.goal], reached.cut.path, reached.output, reached.layout)
            self.reached = reached
        layout, index = self.reached.layout, self.goal.index
        output = self.reached.cut(copied(inputs))
        if len(index) > 1:  # a unit with a place has one value
            maps = torch.stack([one[index] for one in layout.by_example(output, batch.examples)]).float().cpu()
        else:  # [N, positions ...]
            maps = layout.by_channel(output, batch.examples)[:, index[0]].float().cpu()
            if batch.attended is not None and batch.attended.shape == maps.shape:
                maps = maps.masked_fill(batch.attended.cpu() == 0, float("-inf"))
        strengths = maps.reshape(batch.examples, -1).amax(1)
        for row in strengths.argsort(descending=True, stable=True)[: self._count].tolist():
            strength, map_ = float(strengths[row]), maps[row]
            if len(self.strongest) == self._count and strength <= self.strongest[-1].strength:
                continue
            place = torch.unravel_index(map_.argmax(), map_.shape) if map_.dim() else ()
            label = None if batch.labels is None else batch.labels[row]
            one = _row(inputs, row, batch.examples)
            where = tuple(int(each) for each in place)
            self.strongest.append(RankedExample(self.read + row, strength, where, map_.clone(), one, label))
            self.strongest.sort(key=lambda each: (-each.strength, each.number))
            del self.strongest[self._count :]
        self.read += batch.examples


def _row(inputs: Any, row: int, examples: int) -> Any:
    """One example of a batch, on its own memory; what all examples share stays whole."""

    def change(tensor: torch.Tensor) -> torch.Tensor:
        own = tensor[row : row + 1] if tensor.dim() and len(tensor) == examples else tensor
        return own.detach().clone()

    return exchanged(inputs, change)


# Where in an example a unit looks: how much each place of the input moves it, by the gradient.
_OUTSIDE = 0.05  # of the weight, at either end, is left out of a box


def shown_tensor(inputs: Any) -> torch.Tensor:
    """The one that is drawn: the first that is more than one number for each example."""
    return next((each for each in tensors_in(inputs) if each.dim() > 1), next(tensors_in(inputs)))


def looks_at(model: nn.Module, reached: ReachedLayer, goal: Goal, example: RankedExample) -> torch.Tensor:
    """[H, W], [T] or [F]: the weight of each place. Where a layer has one position for each token, it is what
    the unit gave there."""
    tensor = shown_tensor(example.inputs)
    if tensor.is_floating_point():
        leaf = tensor.detach().clone().requires_grad_()
        inputs = exchanged(example.inputs, lambda each: leaf.clone() if each is tensor else each.clone())
        slope = _slope(reached, goal, example, inputs, [leaf])[0].abs()
        return slope if slope.dim() < 2 else slope.sum(-1 if takes_series(model, tensor) else 0)
    if example.map.shape == tensor.shape[1:]:
        return example.map
    with _embedded(model, tensor) as leaves:
        slope = _slope(reached, goal, example, exchanged(example.inputs, torch.Tensor.clone), leaves)
    return slope[0].abs().flatten(tensor.dim() - 1).sum(-1) if slope.dim() > 1 else torch.zeros(tensor.shape[1:])


def _slope(
    reached: ReachedLayer, goal: Goal, example: RankedExample, inputs: Any, leaves: list[torch.Tensor]
) -> torch.Tensor:
    """Of the unit at its strongest place, with respect to the input; nothing where no gradient leads there."""

    with torch.enable_grad():
        output = reached.cut(inputs)
        own = reached.layout.by_example(output, 1)[0]
        by_channel = reached.layout.by_channel(output, 1)[0]
        value = own[goal.index] if len(goal.index) > 1 else by_channel[goal.index[0]][example.place]
    if not leaves:
        return torch.zeros(1)
    slope = None
    if value.requires_grad:
        (slope,) = torch.autograd.grad(value.float(), leaves[0], allow_unused=True)
    return torch.zeros_like(leaves[0]) if slope is None else slope.float().detach()


@contextlib.contextmanager
def _embedded(model: nn.Module, tokens: torch.Tensor) -> Iterator[list[torch.Tensor]]:
    """What the first embedding of the tokens gives, as something that gradients reach."""
    leaves: list[torch.Tensor] = []

    def after(module: nn.Module, arguments: tuple[Any, ...], output: torch.Tensor) -> torch.Tensor | None:
        if leaves or arguments[0].shape != tokens.shape:
            return None
        leaves.append(output.detach().requires_grad_())
        return leaves[0].clone()

    handles = [each.register_forward_hook(after) for each in model.modules() if isinstance(each, nn.Embedding)]
    try:
        yield leaves
    finally:
        for handle in handles:
            handle.remove()


def box(weights: torch.Tensor) -> list[tuple[int, int]]:
    """For each axis from where to where (included) lies what counts."""
    found = []
    for axis in range(weights.dim()):
        others = [other for other in range(weights.dim()) if other != axis]
        along = weights.sum(others) if others else weights
        share = along.cumsum(0) / along.sum().clamp(min=1e-30)
        first = int((share > _OUTSIDE).int().argmax())
        found.append((first, int((share >= 1 - _OUTSIDE).int().argmax()) if along.sum() > 0 else len(along) - 1))
    return found


# The most exciting examples, drawn: images with a frame, text with a mark, series with a stretch of time.
Words = Sequence[str] | Callable[[int], str] | None


@dataclass(frozen=True)
class ShownExamples:
    path: str
    goal: Goal
    found: Sequence[RankedExample]
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
        silent = "0 here and everywhere" if one.strength == 0 == self.found[0].strength else f"{one.strength:.3g}"
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


def draw_examples(shown: ShownExamples) -> Figure:
    first = shown.tensors()[0]
    if not first.is_floating_point() and first.dim() == 1:
        return marked_text(shown)
    return _images(shown) if first.dim() == 3 else _curves(shown)


def _images(shown: ShownExamples) -> Figure:
    images = [to_unit(each.float().numpy()) for each in shown.tensors()]
    painted = [image.transpose(1, 2, 0) if len(image) == 3 else image.mean(0) for image in images]
    labels = [shown.label(place).replace(": ", "\n") for place in range(len(painted))]
    title = "\n".join(textwrap.wrap(shown.title(), 46))
    figure = tiles(painted, title, labels, columns=even_columns(len(painted)), tile_in=1.45, cmap="gray")
    for axes, weights in zip(figure.axes, shown.weights, strict=True):
        (top, bottom), (left, right) = box(weights)
        corner, size = (left - 0.5, top - 0.5), (right - left + 1, bottom - top + 1)
        for colour, width in (("white", 2.6), (SECOND, 1.4)):  # seen on any ground
            axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=colour, linewidth=width))
    put_below(figure, ["The frame holds nine tenths of what moves the unit, by the gradient."])
    return figure


def _curves(shown: ShownExamples) -> Figure:
    columns = 1 if len(shown.found) < 2 else 2 if len(shown.found) < 6 else 3
    rows = math.ceil(len(shown.found) / columns)
    title = "\n".join(textwrap.wrap(shown.title(), 30 * columns))
    figure = new_figure(max(4.5, 2.8 * columns), 1.4 * rows + 0.8, title)
    for place, example in enumerate(shown.tensors()):
        axes = plain_axes(figure.add_subplot(rows, columns, place + 1))
        ((first, last),) = box(shown.weights[place])
        axes.axvspan(first - 0.5, last + 0.5, color=SECOND, alpha=0.18, linewidth=0)
        channels = example.float().T if shown.series else example.float()
        for number, channel in enumerate(channels if channels.dim() > 1 else channels[None]):
            axes.plot(np.arange(len(channel)), channel.numpy(), color=CYCLE[number % len(CYCLE)], linewidth=1.0)
        axes.set_title(shown.label(place), fontsize=8, color=INK, loc="left").set_parse_math(False)
    named = "time" if shown.tensors()[0].dim() > 1 else "feature"
    put_below(figure, [f"Across: {named}. The tint holds nine tenths of what moves the unit, by the gradient."])
    figure.supylabel("value", fontsize=8, color=INK)
    return figure


# Lines of tokens, each on a ground as strong as its weight, the strongest framed.
_AROUND = 58  # letters of a line
_TITLE_LETTERS = 64
_LETTER_IN, _LINE_IN = 0.085, 0.44


def marked_text(shown: ShownExamples) -> Figure:
    """As much of each line as fits around its strongest token."""
    lines, weights = shown.tensors(), shown.weights
    width = _AROUND * _LETTER_IN + 0.4
    title_lines = textwrap.wrap(shown.title(), _TITLE_LETTERS)
    above = 0.24 + 0.18 * len(title_lines)
    height = len(lines) * _LINE_IN + above + 0.33
    figure = new_figure(width, height)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    axes.text(0.1, 0.1, "\n".join(title_lines), fontsize=10, color=INK, va="top", parse_math=False)
    highest = max(float(each.max()) for each in weights)
    for row, (tokens, weight) in enumerate(zip(lines, weights, strict=True)):
        top = above + row * _LINE_IN
        axes.text(0.1, top, shown.label(row), fontsize=7, color=INK, va="top", parse_math=False)
        left = 0.1
        for place, word in _around(tokens, int(weight.argmax()), shown.words):
            wide = len(word) * _LETTER_IN
            share = max(0.0, float(weight[place])) / (highest or 1.0)
            framed = SECOND if place == int(weight.argmax()) else "none"
            ground = colormaps["Blues"](0.75 * share)
            axes.add_patch(Rectangle((left, top + 0.15), wide, 0.2, facecolor=ground, edgecolor=framed, linewidth=1.3))
            axes.text(left, top + 0.25, word, family="monospace", size=8.6, color=INK, va="center", parse_math=False)
            left += wide
    said = "Blue: how strongly the unit answers to a token, or is moved by it; the strongest is framed."
    axes.text(0.1, height - 0.25, said, fontsize=7, color=INK, va="top")
    return figure


def _around(tokens: torch.Tensor, strongest: int, words: Words) -> list[tuple[int, str]]:
    written = []
    for token in tokens.tolist():  # a number where nothing names it; spaces keep their width, other breaks are seen
        word = f"{token} "
        if words is not None:
            word = str(words(token) if callable(words) else words[token])
            word = word.replace("\n", "\\n").replace("\t", "\\t") or " "
        written.append(word)
    first, last = strongest, strongest + 1
    while sum(map(len, written[first:last])) < _AROUND and (first > 0 or last < len(written)):
        first, last = max(0, first - 1), min(len(written), last + 1)
    while last - first > 1 and sum(map(len, written[first:last])) > _AROUND:
        first, last = (first + 1, last) if strongest - first > last - 1 - strongest else (first, last - 1)
    return [(place, written[place]) for place in range(first, last)]
