"""Where the numbers stand in an event of scalars, and what all events of the same make share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.runlog import events
from torch_debugger.runlog.wire import BYTES, FIXED32, FIXED64, VARINT, message, read_varint

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
