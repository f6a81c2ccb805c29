"""A stretch of an event file, read: scalars in columns, the rest frame by frame."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log import protobuf as events
from torch_debugger.log.curves import Points
from torch_debugger.log.protobuf import BYTES, FIXED32, FIXED64, VARINT, message, read_varint
from torch_debugger.log.tfrecord import (
    FRAME_BYTES,
    LONGEST,
    crc32c,
    crc32c_of_each,
    crc32c_of_similar_rows,
    mask,
    masked,
)

PADDING = 16  # bytes that must stand behind the data, so that every row can be read in whole words
_TAIL_BYTES = 4


class Chunk(NamedTuple):
    columns: list[tuple[str, Points]]
    singles: list[tuple[int, bytes]]  # the place and the payload of each other event, in order
    consumed: int  # bytes of whole, sound frames
    damaged: bool  # what follows them is no frame


def read_chunk(padded: NDArray[np.uint8], first_place: int) -> Chunk:
    """Everything in front of the first unsound frame."""
    frames = split(padded[: len(padded) - PADDING])
    pieces, others = _columns(padded, frames, first_place)
    singles = [_payload(padded, frames, index) for index in others]
    unsound = [piece.points[0].places[~piece.sound] for piece in pieces if not piece.sound.all()]
    bad = min((int(places[0]) for places in unsound), default=None)
    for index, checksum in zip(others, crc32c_of_each(singles), strict=True):
        if _tail(padded, frames, index) != mask(checksum):
            place = first_place + int(frames.starts[index])
            bad = place if bad is None else min(bad, place)
            break
    return _until(bad, first_place, frames, pieces, list(zip(others, singles, strict=True)))


def _until(
    bad: int | None, first_place: int, frames: Split, pieces: list[Piece], singles: list[tuple[int, bytes]]
) -> Chunk:
    end = int(frames.starts[-1] + frames.lengths[-1]) + FRAME_BYTES if len(frames.starts) else 0
    consumed = end if bad is None else bad - first_place
    columns = [(tag, points) for piece in pieces for tag, points in dict(zip(*piece[:2], strict=True)).items()]
    if bad is not None:
        columns = [(tag, points.chosen(points.places < bad)) for tag, points in columns]
    columns = [(tag, points) for tag, points in columns if len(points.places)]
    placed = ((first_place + int(frames.starts[index]), payload) for index, payload in singles)
    kept = [(place, payload) for place, payload in placed if place < first_place + consumed]
    columns.sort(key=lambda column: column[1].places[0])
    return Chunk(columns, kept, consumed, frames.damaged or bad is not None)


def _columns(padded: NDArray[np.uint8], frames: Split, first_place: int) -> tuple[list[Piece], list[int]]:
    pieces: list[Piece] = []
    others: list[NDArray[np.intp]] = []
    for length, which in _by_length(frames.lengths):
        if len(which) < FEWEST or not 0 < length <= LONGEST:
            others.append(which)
            continue
        starts = frames.starts[which]
        rows = Rows(_gather(padded, starts + HEAD_BYTES, length), length, starts + first_place)
        for answer in read_rows(rows):
            if isinstance(answer, Piece):
                pieces.append(answer)
            else:
                others.append(which[answer])
    return pieces, sorted(np.concatenate(others).tolist()) if others else []


def _by_length(lengths: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    keys = np.minimum(lengths, LONGEST + 1).astype(np.uint16)  # numpy sorts these in linear time
    order = np.argsort(keys, kind="stable")
    for group in equal_runs(order, keys[order]):
        if len(group):
            yield int(keys[group[0]]), group


def _gather(padded: NDArray[np.uint8], starts: NDArray[np.int64], length: int) -> NDArray[np.uint8]:
    """Payload and checksum of each, in rows of whole words."""
    width = -(-(length + _TAIL_BYTES) // 8) * 8
    anywhere = np.ndarray(len(padded) - width + 1, f"V{width}", padded, strides=(1,))
    rows: NDArray[np.uint8] = anywhere[starts].view(np.uint8).reshape(len(starts), width)
    return rows


def _payload(padded: NDArray[np.uint8], frames: Split, index: int) -> bytes:
    start = int(frames.starts[index]) + HEAD_BYTES
    return padded[start : start + int(frames.lengths[index])].tobytes()


def _tail(padded: NDArray[np.uint8], frames: Split, index: int) -> int:
    start = int(frames.starts[index] + frames.lengths[index]) + HEAD_BYTES
    return int.from_bytes(padded[start : start + _TAIL_BYTES].tobytes(), "little")


# Where the frames of an event file begin, found for thousands of them at once.
#
# The place of a frame follows from the length of the one before it. Logs repeat themselves, though: the same tags,
# step after step. So a few frames are walked one by one until their lengths repeat, and whether that goes on is asked
# of all the following ones together.
HEAD_BYTES = 12
_WALKS = (256, 4096)  # frames: at first, and where so few had no rhythm
_GLANCES = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)  # a look at a few sizes rules most periods out
_FEWEST_REPEATS, _MOST_REPEATS = 32, 1 << 16
_read_length = struct.Struct("<Q").unpack_from

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]


class Split(NamedTuple):
    starts: Integers  # of the frames, whole ones with a sound head
    lengths: Integers  # of their payloads
    damaged: bool  # what follows is no frame; False where it only ends too early


def split(data: Bytes) -> Split:
    starts, end = _all_starts(data)
    lengths = np.diff(starts, append=end) - FRAME_BYTES
    sound = _sound(data, starts, lengths)
    whole = len(starts) if sound.all() else int(sound.argmin())
    bad_head = whole < len(starts) or _is_bad_head(data[end : end + HEAD_BYTES].tobytes())
    return Split(starts[:whole], lengths[:whole], bad_head)


def _all_starts(data: Bytes) -> tuple[Integers, int]:
    """Of all whole frames, by their lengths alone, and where the last one ends."""
    parts: list[Integers] = []
    view, place = memoryview(data.data), 0
    short, long = _WALKS
    walk = short
    while True:
        walked, place = _walk(view, place, walk)
        parts.append(np.array(walked, np.int64))
        if len(walked) < walk:
            return np.concatenate(parts), place
        cycle = _cycle(np.diff(parts[-1], append=place))
        walk = long if cycle is None else short
        if cycle is not None:
            parts.append(_repeats(data, place, cycle))
            place += len(parts[-1]) // len(cycle) * int(cycle.sum())


def _walk(data: memoryview, place: int, most: int) -> tuple[list[int], int]:
    starts: list[int] = []
    end = len(data)
    while place + HEAD_BYTES <= end and len(starts) < most:
        after = place + FRAME_BYTES + int(_read_length(data, place)[0])
        if after > end:
            break
        starts.append(place)
        place = after
    return starts, place


def _cycle(sizes: Integers) -> Integers | None:
    """The shortest cycle that the last half of the sizes goes round."""
    half = len(sizes) // 2
    fits = np.ones(half, np.bool_)  # for periods from half down to 1
    for back in _GLANCES:
        if back <= half:
            fits &= sizes[-back - half : len(sizes) - back] == sizes[-back]
    for period in half - np.flatnonzero(fits)[::-1]:
        if np.array_equal(sizes[-half:], sizes[-half - period : len(sizes) - period]):
            return sizes[-period:]
    return None


def _repeats(data: Bytes, place: int, cycle: Integers) -> Integers:
    """The starts of all frames from `place` on that go round this cycle, whole rounds only."""
    round_bytes, offsets = int(cycle.sum()), np.cumsum(cycle) - cycle
    room, many, found = (len(data) - place) // round_bytes, _FEWEST_REPEATS, 0
    while found < room:
        asked = min(many, room - found)
        first = place + found * round_bytes
        same = min(
            _agreeing(data, first + int(offset), round_bytes, asked, int(size) - FRAME_BYTES)
            for offset, size in zip(offsets, cycle, strict=True)
        )
        found += same
        if same < asked:
            break
        many = min(8 * many, _MOST_REPEATS)
    rounds = place + round_bytes * np.arange(found, dtype=np.int64)
    return (rounds[:, None] + offsets).ravel()


def _agreeing(data: Bytes, first: int, stride: int, count: int, length: int) -> int:
    """How many of the lengths that stand there, one per stride, are this one before the first that is not."""
    same = np.ndarray(count, "<u8", data, first, (stride,)) == length
    return count if same.all() else int(same.argmin())


def _sound(data: Bytes, starts: Integers, lengths: Integers) -> NDArray[np.bool_]:
    """Which heads hold the checksum of their length."""
    anywhere = np.ndarray(max(0, len(data) - 3), "<u4", data, strides=(1,))
    different, which = _distinct(lengths)
    checksums = crc32c_of_each([int(length).to_bytes(8, "little") for length in different])
    expected = np.array([mask(checksum) for checksum in checksums], np.uint32)
    answer: NDArray[np.bool_] = anywhere[starts + 8] == expected[which]
    return answer


def _is_bad_head(head: bytes) -> bool:
    whole = len(head) == HEAD_BYTES
    return whole and mask(crc32c(head[:8])) != int.from_bytes(head[8:], "little")


def _distinct(lengths: Integers) -> tuple[Integers, Integers]:
    """As np.unique with the inverse, without sorting where all are small."""
    if not len(lengths) or lengths.max() >= 1 << 20:
        different, which = np.unique(lengths, return_inverse=True)
        return different, which
    there = np.bincount(lengths) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[lengths]


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
    sound = _templates_sound(rows, layout.varying() + letters)
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


def _templates_sound(rows: Rows, varying: list[int]) -> NDArray[np.bool_]:
    sound = np.empty(len(rows.data), np.bool_)
    for start in range(0, len(sound), _BLOCK_ROWS):
        block = rows.data[start : start + _BLOCK_ROWS]
        stored = np.ndarray(len(block), "<u4", block, rows.length, (block.shape[1],))
        sound[start : start + _BLOCK_ROWS] = masked(crc32c_of_similar_rows(block, rows.length, varying)) == stored
    return sound


# Where the numbers stand in an event of scalars, and what all events of the same make share.
_SIZES = {FIXED64: 8, FIXED32: 4}
_TENSORS = {1: (5, FIXED32, "<f4"), 2: (6, FIXED64, "<f8")}  # by DataType: the field of its numbers


class _Part(NamedTuple):
    """One field of a message: its number, its wire type and where its content stands."""

    number: int
    kind: int
    start: int
    end: int

    def of(self, kind: int) -> slice:
        if self.kind != kind:
            raise ValueError("a field of another kind than expected")
        return slice(self.start, self.end)


class Layout(NamedTuple):
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


def find_layout(event: bytes) -> Layout | None:
    """None for an event that is anything else than numbers with tags, or unusual in any way."""
    try:
        return _layout(event)
    except (ValueError, KeyError):
        return None


def _layout(event: bytes) -> Layout | None:
    parts = _once_each(event, 0, len(event))
    if not {*parts} <= {events.EVENT_TIME, events.EVENT_STEP, events.EVENT_SUMMARY}:
        return None
    summary = parts[events.EVENT_SUMMARY].of(BYTES)
    time = parts[events.EVENT_TIME].of(FIXED64).start if events.EVENT_TIME in parts else -1
    step = parts[events.EVENT_STEP].of(VARINT) if events.EVENT_STEP in parts else slice(0, 0)
    layout = Layout(time, slice(step.start, min(step.stop, step.start + 10)), [], [])
    for part in _parts(event, summary.start, summary.stop):
        if part.number != events.SUMMARY_VALUE:
            return None
        inside = part.of(BYTES)
        parts = _once_each(event, inside.start, inside.stop)
        layout.tags.append(parts[events.VALUE_TAG].of(BYTES))
        layout.values.append(_number(event, parts))
    return layout if layout.values else None


def _number(event: bytes, parts: dict[int, _Part]) -> tuple[int, str]:
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


def _once_each(event: bytes, start: int, end: int) -> dict[int, _Part]:
    parts = list(_parts(event, start, end))
    by_number = {part.number: part for part in parts}
    if len(by_number) != len(parts):
        raise ValueError("a field that stands twice")
    return by_number


def _parts(event: bytes, position: int, end: int) -> Iterator[_Part]:
    while position < end:
        head, position = read_varint(event, position)
        kind, after = head & 7, position
        if kind == VARINT:
            after = read_varint(event, position)[1]
        elif kind == BYTES:
            size, position = read_varint(event, position)
            after = position + size
        elif kind in _SIZES:
            after = position + _SIZES[kind]
        else:
            raise ValueError("no wire type of event files")
        if after > end:
            raise ValueError("a field that goes on behind its message")
        yield _Part(head >> 3, kind, position, after)
        position = after
