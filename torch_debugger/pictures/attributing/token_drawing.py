"""Tokens on a ground that is coloured by their attributions, in lines like a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from torch_debugger.pictures.attributing.drawings import Rows, colours
from torch_debugger.pictures.canvas import INK, image_axes, new_figure

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
        _draw_block(figure, axes[row], blocks[row], found[row])
        axes[row].set_title(label.replace("\n", ", "), fontsize=8, color=INK, loc="left")
    return figure


def _laid_out(words: Sequence[str]) -> list[Place]:
    places, line, column = [], 0, 0
    for number, word in enumerate(words):
        text = _printable(word)
        if column and column + len(text) > _LINE_CHARACTERS:
            line, column = line + 1, 0
        places.append((number, line, column, text))
        column += len(text) + 1
    return places


def _printable(word: str) -> str:
    shown = word.replace("\n", "\\n").replace("\t", "\\t").replace("$", r"\$") or " "
    return shown if len(shown) <= _LONGEST_TOKEN else f"{shown[: _LONGEST_TOKEN - 1]}…"


def _draw_block(figure: Figure, axes: Axes, places: list[Place], found: NDArray[Any]) -> None:
    image_axes(axes)
    shades = colours(found) | ({} if (found < 0).any() else {"cmap": "Reds"})
    scale = ScalarMappable(Normalize(shades["vmin"], shades["vmax"]), colormaps[shades["cmap"]])
    shades_of = np.asarray(scale.to_rgba(np.asarray(found)))
    for number, line, column, text in places:
        ground = shades_of[number]
        axes.add_patch(
            Rectangle((column - 0.4, line + 0.08), len(text) + 0.8, 0.84, facecolor=ground, edgecolor="none")
        )
        dark = float(ground[:3] @ (0.3, 0.59, 0.11)) < 0.5
        axes.text(
            column + len(text) / 2, line + 0.5, text, ha="center", va="center", fontsize=8,
            family="monospace", color="white" if dark else INK,
        )  # fmt: skip
    bar = figure.colorbar(scale, ax=axes, fraction=0.02, pad=0.01)
    bar.set_label("attribution", fontsize=7, color=INK)
    bar.ax.tick_params(labelsize=6)
