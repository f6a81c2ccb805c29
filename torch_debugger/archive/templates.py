"""Events of scalars read as columns: many that share a layout, at once.

Payloads of one length are laid side by side as rows. The first one is taken apart field by field; the rows that
differ from it in nothing but time, step, values and the letters of the tags have the same layout. Among those,
rows with equal tags make one piece. Every checksum is verified.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive.checksums import crc32c_of_rows, masked
from torch_debugger.archive.curve import Points
from torch_debugger.archive.layouts import Layout, find_layout

FEWEST = 12  # rows that are worth it
_MOST_LAYOUTS = 8  # of one length
_BLOCK_ROWS = 1 << 14  # fits a processor's cache
_FACTORS = np.random.default_rng(0).integers(1, 1 << 63, 1024, np.uint64) | np.uint64(1)

_Places = NDArray[np.intp]


class Piece(NamedTuple):
    """Events with the same tags; `sound` are those whose checksum fits."""

    tags: list[str]
    points: list[Points]  # one for each tag
    sound: NDArray[np.bool_]


class Rows(NamedTuple):
    """Payloads of one length with the checksums behind them, filled up to whole words."""

    data: NDArray[np.uint8]  # [frames, width]
    length: int
    places: NDArray[np.int64]  # of the frames in the file

    def payload(self, row: int) -> bytes:
        return self.data[row, : self.length].tobytes()

    def words(self, which: _Places) -> NDArray[np.uint64]:
        every = self.data.view(np.uint64)
        return every if len(which) == len(every) else every[which]

    def some(self, which: _Places) -> Rows:
        return self if len(which) == len(self.data) else Rows(self.data[which], self.length, self.places[which])


def read_rows(rows: Rows) -> Iterator[Piece | _Places]:
    """Pieces, and the rows that are to be read one by one."""
    left = np.arange(len(rows.data))
    for _ in range(_MOST_LAYOUTS):
        if len(left) < FEWEST:
            break
        layout = find_layout(rows.payload(left[0]))
        if layout is None:
            yield left[:1]
            left = left[1:]
            continue
        alike = _same(rows.words(left), layout.skeleton(rows.length, rows.data.shape[1], tags=True), 0)
        yield from _pieces(rows.some(left[alike]), layout, [np.arange(alike.sum())])
        if not alike.all():
            others = _same(rows.words(left), layout.skeleton(rows.length, rows.data.shape[1], tags=False), 0)
            yield from _by_tags(rows, left[others & ~alike], layout)
            alike |= others
        left = left[~alike]
    if len(left):
        yield left


def _by_tags(rows: Rows, which: _Places, layout: Layout) -> Iterator[Piece | _Places]:
    """Rows of one layout, those with the same tags together."""
    if not len(which):
        return
    some = rows.some(which)
    words, skeleton = some.data.view(np.uint64), layout.skeleton(rows.length, rows.data.shape[1], tags=True)
    groups = _groups(_marks(words, skeleton))
    first = np.empty(len(which), np.intp)
    for group in groups:
        first[group] = group[0]
    alike = _same(words, skeleton, first)
    if not alike.all():  # other tags that happen to have the same mark
        yield which[~alike]
        groups = [group[alike[group]] for group in groups]
    yield from _pieces(some, layout, groups)


def _same(words: NDArray[np.uint64], skeleton: NDArray[np.uint64], model: _Places | int) -> NDArray[np.bool_]:
    """Which rows agree under the skeleton with their model, which is one of the rows."""
    answer = np.ones(len(words), np.bool_)
    for column in np.flatnonzero(skeleton):
        answer &= (words[:, column] ^ words[model, column]) & skeleton[column] == 0
    return answer


def _marks(words: NDArray[np.uint64], skeleton: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for each row, the same for those that agree under the skeleton."""
    marks = np.zeros(len(words), np.uint64)
    for column in np.flatnonzero(skeleton):
        marks = (marks ^ (words[:, column] & skeleton[column])) * _FACTORS[column]
        marks ^= marks >> np.uint64(29)
    return marks


def _groups(marks: NDArray[np.uint64]) -> list[_Places]:
    """The places of equal marks."""
    if (marks == marks[0]).all():
        return [np.arange(len(marks))]
    short = marks.astype(np.uint16)  # numpy sorts these in linear time
    order = np.argsort(short, kind="stable")
    groups = equal_runs(order, short[order])
    return [part for group in groups for part in _parted(group, marks[group])]


def _parted(group: _Places, marks: NDArray[np.uint64]) -> list[_Places]:
    if (marks == marks[0]).all():
        return [group]
    order = np.argsort(marks, kind="stable")
    return equal_runs(group[order], marks[order])


def equal_runs(places: _Places, keys: NDArray[np.unsignedinteger]) -> list[_Places]:
    """The places in parts, one for each run of equal keys."""
    return np.split(places, np.flatnonzero(keys[1:] != keys[:-1]) + 1)


def _pieces(rows: Rows, layout: Layout, groups: list[_Places]) -> Iterator[Piece]:
    """Groups of rows with equal tags; all rows have this layout."""
    data = rows.data
    times = _column(data, layout.time, "<f8") if layout.time >= 0 else np.zeros(len(data))
    steps = _steps(data[:, layout.step])
    values = [_column(data, *value) for value in layout.values]
    letters = [place for tag in layout.tags for place in range(tag.start, tag.stop)] if len(groups) > 1 else []
    sound = _sound(rows, layout.varying() + letters)
    whole = [Points(rows.places, steps, each, times) for each in values]
    for group in groups:
        tags = [data[group[0], tag].tobytes().decode("utf-8", "surrogateescape") for tag in layout.tags]
        if len(group) == len(data):
            yield Piece(tags, whole, sound)
        else:
            yield Piece(tags, [points.chosen(group) for points in whole], sound[group])


def _column(data: NDArray[np.uint8], place: int, dtype: str) -> NDArray[np.float64]:
    column: NDArray[np.float64] = np.ndarray(len(data), dtype, data, place, (data.shape[1],)).astype(np.float64)
    return column


def _steps(digits: NDArray[np.uint8]) -> NDArray[np.int64]:
    steps = np.zeros(len(digits), np.uint64)
    for place in range(digits.shape[1]):
        steps |= (digits[:, place] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * place)
    return steps.view(np.int64)


def _sound(rows: Rows, varying: list[int]) -> NDArray[np.bool_]:
    sound = np.empty(len(rows.data), np.bool_)
    for start in range(0, len(sound), _BLOCK_ROWS):
        block = rows.data[start : start + _BLOCK_ROWS]
        stored = np.ndarray(len(block), "<u4", block, rows.length, (block.shape[1],))
        sound[start : start + _BLOCK_ROWS] = masked(crc32c_of_rows(block, rows.length, varying)) == stored
    return sound
