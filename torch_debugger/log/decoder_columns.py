"""A stretch of an event file, read: scalars in columns, the rest frame by frame."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log import protobuf as events
from torch_debugger.log.curves import Points
from torch_debugger.log.protobuf import BYTES, FIXED32, FIXED64, VARINT, message, places, read_varint
from torch_debugger.log.tfrecord import (
    HEAD_BYTES,
    LONGEST,
    TAIL_BYTES,
    Frames,
    crc32c_of_similar_rows,
    mask,
)


class Chunk(NamedTuple):
    columns: list[tuple[str, Points]]
    singles: list[tuple[int, bytes]]  # the place and the payload of each other event, in order
    sound_bytes: int  # of the frames in front of the first unsound one


def read_chunk(padded: NDArray[np.uint8], frames: Frames, first_place: int) -> Chunk:
    """Everything in front of the first unsound frame."""
    pieces, others = _columns(padded, frames, first_place)
    singles = frames.sound_payloads(padded, others)
    end = first_place + frames.end
    unsound = [int(piece.points[0].places[~piece.sound][0]) for piece in pieces if not piece.sound.all()]
    if len(singles) < len(others):
        unsound.append(first_place + int(frames.starts[others[len(singles)]]))
    columns = [(tag, points) for piece in pieces for tag, points in dict(zip(*piece[:2], strict=True)).items()]
    if unsound:
        end = min(unsound)
        columns = [(tag, points.chosen(points.places < end)) for tag, points in columns]
        columns = [(tag, points) for tag, points in columns if len(points.places)]
    places = (frames.starts[others] + first_place).tolist()
    kept = [(place, payload) for place, payload in zip(places, singles, strict=False) if place < end]
    columns.sort(key=lambda column: column[1].places[0])
    return Chunk(columns, kept, end - first_place)


def _columns(padded: NDArray[np.uint8], frames: Frames, first_place: int) -> tuple[list[EventPiece], list[int]]:
    pieces: list[EventPiece] = []
    others: list[NDArray[np.intp]] = []
    keys = np.minimum(frames.lengths, LONGEST + 1).astype(np.uint16)  # numpy sorts these in linear time
    order = np.argsort(keys, kind="stable")
    for which in equal_runs(order, keys[order]) if len(order) else ():
        length = int(keys[which[0]])
        if len(which) < FEWEST or not 0 < length <= LONGEST:
            others.append(which)
            continue
        starts = frames.starts[which]
        rows = Rows(_gather(padded, starts + HEAD_BYTES, length), length, starts + first_place)
        for answer in read_rows(rows):
            if isinstance(answer, EventPiece):
                pieces.append(answer)
            else:
                others.append(which[answer])
    return pieces, sorted(np.concatenate(others).tolist()) if others else []


def _gather(padded: NDArray[np.uint8], starts: NDArray[np.int64], length: int) -> NDArray[np.uint8]:
    """Payload and checksum of each, in rows of whole words."""
    width = -(-(length + TAIL_BYTES) // 8) * 8
    anywhere = np.ndarray(len(padded) - width + 1, f"V{width}", padded, strides=(1,))
    rows: NDArray[np.uint8] = anywhere[starts].view(np.uint8).reshape(len(starts), width)
    return rows


# Events of scalars read as columns: many that share a layout, at once.
#
# Payloads of one length are laid side by side as rows. The first one is taken apart field by field; the rows that
# differ from it in nothing but time, step, values and the letters of the tags have the same layout. Among those, rows
# with equal tags make one piece. Every checksum is verified.
FEWEST = 12  # rows that are worth it
_MOST_LAYOUTS = 8  # of one length
_BLOCK_ROWS = 1 << 14  # fits a processor's cache
_FACTORS = np.random.default_rng(0).integers(1, 1 << 63, 1024, np.uint64) | np.uint64(1)

_Places = NDArray[np.intp]


class EventPiece(NamedTuple):
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


def read_rows(rows: Rows) -> Iterator[EventPiece | _Places]:
    """Pieces, and the rows that are to be read one by one."""
    left = np.arange(len(rows.data))
    for _ in range(_MOST_LAYOUTS):
        if len(left) < FEWEST:
            break
        layout = None
        with suppress(KeyError, ValueError):
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


def _by_tags(rows: Rows, which: _Places, layout: EventLayout) -> Iterator[EventPiece | _Places]:
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


def _pieces(rows: Rows, layout: EventLayout, groups: list[_Places]) -> Iterator[EventPiece]:
    """Groups of rows with equal tags; all rows have this layout."""
    data = rows.data
    times = _column(data, layout.time, "<f8") if layout.time >= 0 else np.zeros(len(data))
    steps = _steps(data[:, layout.step])
    values = [_column(data, *value) for value in layout.values]
    letters = [place for tag in layout.tags for place in range(tag.start, tag.stop)] if len(groups) > 1 else []
    sound = np.empty(len(data), np.bool_)
    for start in range(0, len(sound), _BLOCK_ROWS):
        block = data[start : start + _BLOCK_ROWS]
        stored = np.ndarray(len(block), "<u4", block, rows.length, (block.shape[1],))
        checksums = mask(crc32c_of_similar_rows(block, rows.length, layout.varying() + letters))
        sound[start : start + _BLOCK_ROWS] = checksums == stored
    whole = [Points(rows.places, steps, each, times) for each in values]
    for group in groups:
        tags = [data[group[0], tag].tobytes().decode("utf-8", "surrogateescape") for tag in layout.tags]
        if len(group) == len(data):
            yield EventPiece(tags, whole, sound)
        else:
            yield EventPiece(tags, [points.chosen(group) for points in whole], sound[group])


def _column(data: NDArray[np.uint8], place: int, dtype: str) -> NDArray[np.float64]:
    column: NDArray[np.float64] = np.ndarray(len(data), dtype, data, place, (data.shape[1],)).astype(np.float64)
    return column


def _steps(digits: NDArray[np.uint8]) -> NDArray[np.int64]:
    steps = np.zeros(len(digits), np.uint64)
    for place in range(digits.shape[1]):
        steps |= (digits[:, place] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * place)
    return steps.view(np.int64)


# Where the numbers stand in an event of scalars, and what all events of the same make share.
_TENSORS = {1: (5, FIXED32, "<f4"), 2: (6, FIXED64, "<f8")}  # by DataType: the field of its numbers


class _FieldPart(NamedTuple):
    """One field of a message: its wire type and where its content stands."""

    kind: int
    start: int
    end: int

    def of(self, kind: int) -> slice:
        if self.kind != kind:
            raise ValueError("a field of another kind than expected")
        return slice(self.start, self.end)


class EventLayout(NamedTuple):
    time: int  # the place of its eight bytes; -1: not there
    step: slice  # the bytes of its varint; empty: not there
    values: list[tuple[int, str]]  # the place and the dtype of each
    tags: list[slice]

    def varying(self) -> list[int]:
        """The columns in which events of one layout and the same tags can differ."""
        time = range(self.time, self.time + 8) if self.time >= 0 else ()
        numbers = (range(place, place + int(kind[-1])) for place, kind in self.values)
        return [*time, *range(self.step.start, self.step.stop), *(place for each in numbers for place in each)]

    def skeleton(self, length: int, width: int, *, tags: bool) -> NDArray[np.uint64]:
        """The bits that must be the same in a row of that width: with the tags, or beside them."""
        bits = np.zeros(width, np.uint8)
        bits[:length] = 0xFF
        bits[self.varying()] = 0
        bits[self.step] = 0x80  # says whether the number goes on
        for tag in self.tags if not tags else ():
            bits[tag] = 0
        return bits.view(np.uint64)


def find_layout(event: bytes) -> EventLayout | None:
    """None for an event that is anything else than numbers with tags; raises KeyError or ValueError for one that is
    unusual in any way."""
    parts = _once_each(event, 0, len(event))
    if not {*parts} <= {events.EVENT_TIME, events.EVENT_STEP, events.EVENT_SUMMARY}:
        return None
    summary = parts[events.EVENT_SUMMARY].of(BYTES)
    time = parts[events.EVENT_TIME].of(FIXED64).start if events.EVENT_TIME in parts else -1
    step = parts[events.EVENT_STEP].of(VARINT) if events.EVENT_STEP in parts else slice(0, 0)
    layout = EventLayout(time, slice(step.start, min(step.stop, step.start + 10)), [], [])
    for number, kind, first, last, _ in places(event, summary.start, summary.stop):
        if number != events.SUMMARY_VALUE:
            return None
        inside = _FieldPart(kind, first, last).of(BYTES)
        parts = _once_each(event, inside.start, inside.stop)
        layout.tags.append(parts[events.VALUE_TAG].of(BYTES))
        layout.values.append(_number(event, parts))
    return layout if layout.values else None


def _number(event: bytes, parts: dict[int, _FieldPart]) -> tuple[int, str]:
    if events.VALUE_SIMPLE in parts:
        return parts[events.VALUE_SIMPLE].of(FIXED32).start, "<f4"
    # Without the metadata beside it, what a tensor means depends on what came before.
    metadata = message(event[parts[events.VALUE_METADATA].of(BYTES)])
    if message(metadata[events.METADATA_PLUGIN])[events.PLUGIN_NAME] != b"scalars":
        raise ValueError("the tensor of another plugin")
    inside = parts[events.VALUE_TENSOR].of(BYTES)
    tensor = _once_each(event, inside.start, inside.stop)
    kind = read_varint(event, tensor[events.TENSOR_TYPE].of(VARINT).start)[0]
    number, wire, dtype = _TENSORS[kind]
    content = tensor.get(number) or tensor[events.TENSOR_CONTENT]
    where = slice(content.start, content.end) if content.kind == wire else content.of(BYTES)
    if where.stop - where.start != int(dtype[-1]) or {number, events.TENSOR_CONTENT} <= {*tensor}:
        raise ValueError("more or less than one number")
    return where.start, dtype


def _once_each(event: bytes, start: int, end: int) -> dict[int, _FieldPart]:
    by_number: dict[int, _FieldPart] = {}
    for number, kind, first, last, _ in places(event, start, end):
        if number in by_number:
            raise ValueError("a field that stands twice")
        by_number[number] = _FieldPart(kind, first, last)
    return by_number
