"""The same small drawing for many layers or units, in rows, each under its name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from torch_debugger.pictures.canvas import INK, new_figure, plain_axes
from torch_debugger.pictures.captions import LARGE, LINE, SMALL, height_in, wrapped
from torch_debugger.pictures.mosaic import even_columns

_LEFT, _GAP, _NAME = 0.12, 0.22, 0.34  # inches


def small_multiples(
    title: str,
    names: Sequence[str],
    draw: Callable[[Axes, int], None],
    words: Sequence[str] = (),
    *,
    columns: int = 0,
    size_in: tuple[float, float] = (1.15, 0.6),
    under: float = 0.0,
) -> Figure:
    """`draw(axes, place)` for each name, without ticks unless it sets some; `under` is room for them. Places
    are reckoned here: matplotlib's own layout of a hundred axes takes seconds."""
    columns = min(columns or even_columns(len(names)), len(names))
    rows = math.ceil(len(names) / columns)
    wide, high = size_in
    width = max(4.5, columns * (wide + _GAP) + 2 * _LEFT)
    above, below = wrapped([title], width - 0.2, LARGE), wrapped(words, width - 0.2)
    head = height_in(above, LARGE) + 0.12
    total = head + rows * (high + _NAME + under) + height_in(below) + 0.15
    figure = new_figure(width, total)
    figure.set_layout_engine("none")
    for place, name in enumerate(names):
        row, column = divmod(place, columns)
        left = _LEFT + column * (wide + _GAP)
        bottom = total - head - row * (high + _NAME + under) - _NAME - high
        axes = plain_axes(figure.add_axes((left / width, bottom / total, wide / width, high / total)))
        axes.set(xticks=[], yticks=[])
        draw(axes, place)
        axes.set_title(name, fontsize=7, color=INK, pad=2, loc="left", linespacing=1.1).set_parse_math(False)
    _write(figure, 1 - 0.08 / total, above, LARGE, "top")
    _write(figure, 0.06 / total, below, SMALL, "bottom")
    return figure


def _write(figure: Figure, height: float, lines: Sequence[str], points: float, edge: str) -> None:
    left = 0.08 / figure.get_figwidth()
    words = figure.text(
        left, height, "\n".join(lines), fontsize=points, color=INK, va=edge, linespacing=LINE * 0.83
    )
    words.set_parse_math(False)
