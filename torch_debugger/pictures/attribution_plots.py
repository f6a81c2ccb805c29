"""Attributions, drawn by the kind of input: over images, along series, as bars of a table, on tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from torch_debugger.pictures.attribution_inputs import Explained
from torch_debugger.pictures.figures import (
    ACCENT,
    HEAT,
    INK,
    SECOND,
    SIGNED,
    image_axes,
    new_figure,
    plain_axes,
    say_below,
    say_beside,
)
from torch_debugger.pictures.image_grids import Numbers, ShownImages
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.target_gradients import Aim, named, refuse_not_finite
from torch_debugger.system.errors import UsageError

_MOST_ROWS = 8
_MOST_BARS = 64  # numbers of one example; more are a series


class Showing(TypedDict, total=False):
    """What the drawing may be told."""

    labels: Sequence[str] | Mapping[int, str] | None  # of classes
    tokens: Sequence[str] | Sequence[Sequence[str]] | None  # of one example, or of each
    features: Sequence[str] | None  # columns of a table
    mean: Numbers  # of images, as they were normalised
    std: Numbers


def refuse_unknown(function: str, showing: Showing) -> None:
    """In Python's own words, by the function that was called, and before the model runs."""
    for name in showing:
        if name not in Showing.__annotations__:
            known = ", ".join(Showing.__annotations__)
            raise TypeError(
                f"{function}() got an unexpected keyword argument {name!r}; for the drawing it takes {known}."
            )


class Attribution(Picture):
    """`attributions[i]` belongs to `targets[i]` of example `examples[i]`.

    found.attributions   # float32, of the shape of the input; [maps, tokens] for tokens
    found.raw            # the same, but for tokens [maps, tokens, numbers of the embedding]
    found.scores         # the model's own number for each target
    found.gap            # of integrated gradients: the sum of attributions less the score's change
    """

    gap: NDArray[np.float32] | None = None

    def __init__(
        self,
        title: str,
        found: torch.Tensor,
        explained_input: Explained,
        aims: Sequence[Aim],
        scores: torch.Tensor,
        *,
        labels: Sequence[str] | Mapping[int, str] | None = None,
        tokens: Sequence[Any] | None = None,
        features: Sequence[str] | None = None,
        mean: Numbers = None,
        std: Numbers = None,
    ) -> None:
        refuse_not_finite(scores, aims)
        self.raw = found.cpu().numpy()
        of_tokens = explained_input.embedding is not None and self.raw.ndim > 2
        self.attributions: NDArray[np.float32] = self.raw.sum(axis=-1) if of_tokens else self.raw
        self.scores = scores.float().cpu().numpy()
        self.targets = [aim.target for aim in aims]
        self.examples = [aim.example for aim in aims]
        self.names = [named(aim.target, labels) for aim in aims]
        if not np.isfinite(self.attributions).all():
            raise UsageError(
                f"{title}: some attributions are NaN or Inf, because a gradient of the model or a score is."
                " `torch_debugger.find_nan` finds the operation that made it."
            )
        self.note = "" if self.raw.any() else "All attributions are zero: the score does not change here."
        self._words = _words(explained_input.given.tensor, tokens) if explained_input.embedding is not None else None
        self._images = (
            ShownImages(explained_input.value, mean, std) if self._words is None and self.raw.ndim == 4 else None
        )
        self._values, self._features = explained_input.value.float().cpu().numpy(), features
        super().__init__(title, {"attributions": self.attributions, "scores": self.scores}, self._figure)

    def _figure(self) -> Figure:
        count, found = len(self.attributions), self.attributions
        title = f"{self.title} ({_MOST_ROWS} of {count} examples)" if count > _MOST_ROWS else self.title
        several = len(set(self.examples)) > 1
        rows = [
            (example, (f"example {example}\n" if several else "") + f"{name}\nscore {score:.3g}")
            for example, name, score in zip(self.examples, self.names, self.scores, strict=True)
        ][:_MOST_ROWS]
        if self._words is not None:
            figure = draw_tokens(title, self._words, found, rows)
        elif self._images is not None:
            figure = draw_images(title, self._images, found, rows)
        elif found.ndim == 2 and found.shape[1] <= _MOST_BARS:
            figure = draw_bars(title, self._features, self._values, found, rows)
        else:
            figure = draw_series(title, self._values, found, rows)
        return say_below(figure, self.note)


def _words(ids: torch.Tensor, tokens: Sequence[Any] | None) -> list[list[str]]:
    """One list for each example; the ids themselves where no words are given."""
    if tokens is None:
        return [[str(each) for each in row] for row in ids.flatten(1).tolist()]
    rows = [list(tokens)] * len(ids) if isinstance(tokens[0], str) else [list(row) for row in tokens]
    if len(rows) != len(ids) or any(len(row) != ids.shape[1] for row in rows):
        raise UsageError(
            f"tokens= has {[len(row) for row in rows]} words, but the input holds {len(ids)} x {ids.shape[1]} tokens."
        )
    return [[str(each) for each in row] for row in rows]


# How attributions of images, series and tables are drawn: blue against, red for the score.
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
        axes = plain_axes(figure.add_subplot(len(rows), 1, row + 1), "attribution")
        largest = np.argsort(-np.abs(found[row]))[:count][::-1]
        sizes = found[row][largest]
        axes.barh(range(count), sizes, color=np.where(sizes < 0, ACCENT, SECOND).tolist(), height=0.7)
        names = [str(features[each]) if features is not None else f"[{each}]" for each in largest]
        shown = zip(names, values[example][largest], strict=True)
        axes.set_yticks(range(count), [f"{name} = {value:.3g}" for name, value in shown])
        axes.axvline(0, color=INK, linewidth=0.6)
        axes.set_title(label.replace("\n", ", "), fontsize=8, color=INK, loc="left")
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
            summed = ground.sum(axis=0, keepdims=True)
            shades = colours(summed, on_white=True)
            drawn = axes.imshow(summed, aspect="auto", extent=extent, alpha=0.6, **shades)
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


# Tokens on a ground that is coloured by their attributions, in lines like a text.
_NARROWEST, _LINE_CHARACTERS = 40, 84
_LONGEST_TOKEN = 20
_INCHES_A_CHARACTER, _INCHES_A_LINE = 0.082, 0.3

Place = tuple[int, int, int, str]  # the token's number, its line and first character, and its text


def draw_tokens(title: str, words: list[list[str]], found: NDArray[Any], rows: Rows) -> Figure:
    """One block of lines for each example, each in colours of its own range."""
    blocks = [_laid_out(words[example]) for example, _ in rows]
    heights = [places[-1][1] + 1.0 for places in blocks]
    inches = sum(heights) * _INCHES_A_LINE + len(rows) * 0.55 + 0.5
    width = max([_NARROWEST] + [column + len(text) for places in blocks for _, _, column, text in places])
    figure = new_figure(width * _INCHES_A_CHARACTER + 1.0, inches, title)
    axes = figure.subplots(len(rows), 1, squeeze=False, height_ratios=[height + 1 for height in heights])[:, 0]
    for row, (_, label) in enumerate(rows):
        axes[row].set_xlim(-0.5, width + 0.5)
        axes[row].set_ylim(heights[row], 0)
        image_axes(axes[row])
        shades = colours(found[row]) | ({} if (found[row] < 0).any() else {"cmap": "Reds"})
        scale = ScalarMappable(Normalize(shades["vmin"], shades["vmax"]), colormaps[shades["cmap"]])
        shades_of = np.asarray(scale.to_rgba(np.asarray(found[row])))
        for number, line, column, text in blocks[row]:
            ground = shades_of[number]
            corner, wide = (column - 0.4, line + 0.08), len(text) + 0.8
            axes[row].add_patch(Rectangle(corner, wide, 0.84, facecolor=ground, edgecolor="none"))
            dark = float(ground[:3] @ (0.3, 0.59, 0.11)) < 0.5
            axes[row].text(
                column + len(text) / 2, line + 0.5, text, ha="center", va="center", fontsize=8,
                family="monospace", color="white" if dark else INK,
            )  # fmt: skip
        bar = figure.colorbar(scale, ax=axes[row], fraction=0.02, pad=0.01)
        bar.set_label("attribution", fontsize=7, color=INK)
        bar.ax.tick_params(labelsize=6)
        axes[row].set_title(label.replace("\n", ", "), fontsize=8, color=INK, loc="left")
    return figure


def _laid_out(words: Sequence[str]) -> list[Place]:
    places, line, column = [], 0, 0
    for number, word in enumerate(words):
        shown = word.replace("\n", "\\n").replace("\t", "\\t").replace("$", r"\$") or " "
        text = shown if len(shown) <= _LONGEST_TOKEN else f"{shown[: _LONGEST_TOKEN - 1]}…"
        if column and column + len(text) > _LINE_CHARACTERS:
            line, column = line + 1, 0
        places.append((number, line, column, text))
        column += len(text) + 1
    return places
