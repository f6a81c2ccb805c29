"""A curve drawn in braille dots: 2 by 4 of them in each character."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # [row][column] of one character
_BLANK = 0x2800
_LOST = "x"  # marks columns in which no value was finite


def render_curve(
    values: Sequence[float],
    width: int = 60,
    height: int = 6,
    *,
    low: float | None = None,
    high: float | None = None,
) -> str:
    """Lines of text, oldest value left, with the ends of the scale at their edge. Without `low` and
    `high` the curve fills its own range; values that are not finite leave a gap marked at the bottom."""
    means = _resample(values, 2 * width)
    finite = [mean for mean in means if mean is not None]
    bottom = low if low is not None else min(finite, default=0.0)
    top = high if high is not None else max(finite, default=1.0)
    rows = _draw(means, width, height, bottom, top if top > bottom else bottom + 1.0)
    rows[-1] = _mark_gaps(rows[-1], means)
    labels = [f"{top:.4g}", *[""] * (height - 2), f"{bottom:.4g}"] if height > 1 else [f"{top:.4g}"]
    margin = max(map(len, labels))
    return "\n".join(f"{label:>{margin}} │{row}" for label, row in zip(labels, rows, strict=True))


def render_sparkline(values: Sequence[float], width: int) -> str:
    """The curve in one line that fills its own range."""
    means = _resample(values, 2 * width)
    finite = [mean for mean in means if mean is not None]
    bottom, top = min(finite, default=0.0), max(finite, default=1.0)
    (row,) = _draw(means, width, 1, bottom, top if top > bottom else bottom + 1.0)
    return _mark_gaps(row, means)


def _resample(values: Sequence[float], columns: int) -> list[float | None]:
    """The mean of the finite values that fall into each column; None where there are none."""
    count = min(columns, len(values))
    edges = [round(index * len(values) / count) for index in range(count + 1)] if count else []
    return [_mean(values[start:end]) for start, end in itertools.pairwise(edges)]


def _mean(values: Sequence[float]) -> float | None:
    finite = [value for value in values if math.isfinite(value)]
    return sum(finite) / len(finite) if finite else None


def _draw(means: list[float | None], width: int, height: int, bottom: float, top: float) -> list[str]:
    cells = [[_BLANK] * width for _ in range(height)]
    last: int | None = None
    for column, mean in enumerate(means):
        level = None if mean is None else _level(mean, 4 * height, bottom, top)
        if level is not None:
            start = level if last is None else last + (level > last) - (level < last)
            for row in range(min(start, level), max(start, level) + 1):
                cells[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
        last = level
    return ["".join(map(chr, row)) for row in cells]


def _level(value: float, dots: int, bottom: float, top: float) -> int:
    """The dot row of a value, 0 at the top."""
    share = (value - bottom) / (top - bottom)
    return round((1.0 - min(max(share, 0.0), 1.0)) * (dots - 1))


def _mark_gaps(row: str, means: list[float | None]) -> str:
    lost = {column // 2 for column in range(len(means)) if means[column] is None}
    return "".join(_LOST if index in lost and cell == chr(_BLANK) else cell for index, cell in enumerate(row))
