"""Rows and columns fitted into a width: what is too long gets shorter, what does not fit is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch_debugger.anatomy.summing.columns import Cell, Column
from torch_debugger.anatomy.summing.parts import Held
from torch_debugger.anatomy.summing.rows import Row
from torch_debugger.anatomy.summing.seen import dtype_name

_GAP = 2
_NARROWEST_NAME = 24


class Line(NamedTuple):
    name: str
    cells: tuple[str, ...]
    row: Row | None = None  # None for the titles and for parameters


class Layout(NamedTuple):
    lines: list[Line]  # the titles first
    width: int
    wanted: int  # the width at which nothing is shortened
    left_out: list[Column]  # for which there was no room


class Entry(NamedTuple):
    """One line before it is fitted."""

    name: str
    cells: tuple[Cell, ...]
    row: Row | None = None


def held_entry(held: Held, before: str, columns: tuple[Column, ...]) -> Entry:
    """A parameter below the row that holds it; its count is part of the row's."""
    size = str(list(held.size)) if not held.lazy else "(no size yet)"
    has_kernels = any(column.name == "kernel_size" for column in columns)
    said = {"kernel_size": size, "num_params": f"of these {held.elements:,}", "dtype": dtype_name(held.dtype)}
    name = held.name if has_kernels else f"{held.name} {size}"
    return Entry(before + name, tuple((said.get(column.name, ""),) for column in columns))


def laid_out(
    entries: Sequence[Entry], columns: tuple[Column, ...], col_width: int, width: int | None
) -> Layout:
    """Operations are shortened first, then sizes, then names; what still does not fit is left out."""
    everything = [Entry("Layer", tuple((column.title,) for column in columns)), *entries]
    limits = [max(col_width, len(column.title)) for column in columns]
    widths = [max(len(entry.name) for entry in everything), *_widths(everything, limits, 0)]
    narrowest = [min(widths[0], _NARROWEST_NAME), *_widths(everything, limits, -1)]
    kept, wanted = len(columns), _total(widths)
    while width is not None and kept > 1 and _total(narrowest[: kept + 1]) > width:
        kept -= 1
    for place in [*sorted(range(1, kept + 1), key=lambda place: not columns[place - 1].is_number), 0]:
        excess = 0 if width is None else _total(widths[: kept + 1]) - width
        widths[place] = max(widths[place] - max(excess, 0), narrowest[place])
    lines = [_line(entry, widths, columns[:kept]) for entry in everything]
    return Layout(lines, _total(widths[: kept + 1]), wanted, list(columns[kept:]))


def _widths(entries: Sequence[Entry], limits: list[int], form: int) -> list[int]:
    """Of the columns, with the longest (0) or the shortest (-1) forms of their cells that keep to a limit."""
    return [
        max(len(_fitted(entry.cells[place][form:], limit)) for entry in entries)
        for place, limit in enumerate(limits)
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _line(entry: Entry, widths: list[int], columns: tuple[Column, ...]) -> Line:
    cells = tuple(
        _fitted(cell, width).rjust(width) if column.is_number else _fitted(cell, width).ljust(width)
        for cell, width, column in zip(entry.cells, widths[1:], columns, strict=False)
    )
    return Line(cut(entry.name, widths[0]).ljust(widths[0]), cells, entry.row)


def _fitted(cell: Cell, width: int) -> str:
    return next((form for form in cell if len(form) <= width), cut(cell[-1], width))


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
