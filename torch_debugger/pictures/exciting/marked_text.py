"""Lines of tokens, each on a ground as strong as its weight, the strongest framed."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

import torch
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from torch_debugger.pictures.canvas import INK, SECOND, new_figure

_AROUND = 58  # letters of a line
_TITLE_LETTERS = 64
_LETTER_IN, _LINE_IN = 0.085, 0.44


def marked_text(
    title: str,
    labels: Sequence[str],
    lines: Sequence[torch.Tensor],
    weights: Sequence[torch.Tensor],
    words: Sequence[str] | Callable[[int], str] | None,
) -> Figure:
    """As much of each line as fits around its strongest token."""
    width = _AROUND * _LETTER_IN + 0.4
    title_lines = textwrap.wrap(title, _TITLE_LETTERS)
    above = 0.24 + 0.18 * len(title_lines)
    height = len(lines) * _LINE_IN + above + 0.33
    figure = new_figure(width, height)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    axes.text(0.1, 0.1, "\n".join(title_lines), fontsize=10, color=INK, va="top", parse_math=False)
    highest = max(float(each.max()) for each in weights)
    for row, (label, tokens, weight) in enumerate(zip(labels, lines, weights, strict=True)):
        top = above + row * _LINE_IN
        axes.text(0.1, top, label, fontsize=7, color=INK, va="top", parse_math=False)
        left = 0.1
        for place, word in _around(tokens, int(weight.argmax()), words):
            wide = len(word) * _LETTER_IN
            share = max(0.0, float(weight[place])) / (highest or 1.0)
            framed = SECOND if place == int(weight.argmax()) else "none"
            ground = colormaps["Blues"](0.75 * share)
            axes.add_patch(
                Rectangle((left, top + 0.15), wide, 0.2, facecolor=ground, edgecolor=framed, linewidth=1.3)
            )
            axes.text(
                left, top + 0.25, word, family="monospace", size=8.6, color=INK, va="center", parse_math=False
            )
            left += wide
    told = "Blue: how strongly the unit answers to a token, or is moved by it; the strongest is framed."
    axes.text(0.1, height - 0.25, told, fontsize=7, color=INK, va="top")
    return figure


def _around(
    tokens: torch.Tensor, strongest: int, words: Sequence[str] | Callable[[int], str] | None
) -> list[tuple[int, str]]:
    written = [_written(int(token), words) for token in tokens.tolist()]
    first, last = strongest, strongest + 1
    while sum(map(len, written[first:last])) < _AROUND and (first > 0 or last < len(written)):
        first, last = max(0, first - 1), min(len(written), last + 1)
    while last - first > 1 and sum(map(len, written[first:last])) > _AROUND:
        first, last = (first + 1, last) if strongest - first > last - 1 - strongest else (first, last - 1)
    return [(place, written[place]) for place in range(first, last)]


def _written(token: int, words: Sequence[str] | Callable[[int], str] | None) -> str:
    """A number where nothing names it; spaces keep their width, other breaks are seen."""
    if words is None:
        return f"{token} "
    word = str(words(token) if callable(words) else words[token])
    return word.replace("\n", "\\n").replace("\t", "\\t") or " "
