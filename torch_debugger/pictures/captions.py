"""Sentences in a picture: wrapped to its width, and taken as they are, without mathematics in dollars."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.figure import Figure

from torch_debugger.pictures.canvas import INK, new_figure

SMALL, LARGE = 8.0, 11.0  # points
LINE = 1.45  # from line to line, in heights of a letter
_LETTER = 0.56  # mean width of a letter, in heights


def wrapped(sentences: Sequence[str], width_in: float, points: float = SMALL) -> list[str]:
    """Lines, each sentence beginning a new one."""
    room = max(20, int(width_in * 72 / (points * _LETTER)))
    return [line for sentence in sentences for line in textwrap.wrap(sentence, room) or [""]]


def height_in(lines: Sequence[str], points: float = SMALL) -> float:
    return len(lines) * points * LINE / 72


def put_below(figure: Figure, sentences: Sequence[str]) -> None:
    """Where the layout makes room for them."""
    if sentences:
        lines = "\n".join(wrapped(sentences, figure.get_figwidth() - 0.2))
        below = figure.supxlabel(lines, x=0.01, ha="left", fontsize=SMALL, color=INK, linespacing=LINE * 0.83)
        below.set_parse_math(False)


def titled_figure(width_in: float, height_in: float, title: str) -> Figure:
    """One whose layout makes room, also for a long title."""
    lines = wrapped([title], width_in - 0.2, LARGE)
    return new_figure(width_in, height_in + (len(lines) - 1) * LARGE * LINE / 72, "\n".join(lines))


def shortened(name: str, letters: int) -> str:
    """A path that is too long loses its beginning: …layers.11.mlp.fc1"""
    return name if len(name) <= letters else f"…{name[1 - letters :]}"


def named(path: str) -> str:
    return f"`{path}`" if path else "the model"
