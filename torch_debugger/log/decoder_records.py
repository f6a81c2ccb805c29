"""Events back to records; what this version does not know is left out."""

from __future__ import annotations

import json
import re
import struct
from collections import defaultdict
from typing import Any

import numpy as np

from torch_debugger.log import protobuf as numbered
from torch_debugger.log.protobuf import (
    BYTES,
    EVENT_STEP,
    EVENT_SUMMARY,
    EVENT_TIME,
    FIXED64,
    VARINT,
    fields,
    key,
    message,
    read_varint,
    scalar_value,
    signed,
    varint,
)
from torch_debugger.records import Record, Scalars, Table, TensorRows
from torch_debugger.records.codec import from_plain

# What an event raises that is sound but not of our making.
_FOREIGN = (ValueError, TypeError, KeyError, AttributeError, struct.error, RecursionError)


class Decoder:
    """Reads the events of one file; keeps the headings of its tables."""

    def __init__(self) -> None:
        self._tables: dict[str, Table] = {}
        self._layouts = Layouts()

    def decode(self, payload: bytes) -> list[Record]:
        known = self._layouts.read(payload)
        if known is not None:
            return [known]
        try:
            event = message(payload)
            records = self._records(event) if numbered.EVENT_SUMMARY in event else []
        except _FOREIGN:
            return []
        if len(records) == 1 and isinstance(records[0], Scalars):
            self._layouts.learn(payload, records[0])
        return records

    def _records(self, event: dict[int, Any]) -> list[Record]:
        step = signed(event.get(numbered.EVENT_STEP, 0))
        scalars: dict[str, float] = {}
        others: list[Record] = []
        for _, value in fields(event[numbered.EVENT_SUMMARY]):
            parts = message(value)
            tag = parts[numbered.VALUE_TAG].decode()
            if numbered.VALUE_SIMPLE in parts:
                scalars[tag] = _single(parts[numbered.VALUE_SIMPLE])
            elif tag.startswith((numbered.ROWS_TAG, numbered.RECORD_TAG)):
                others += self._from_tensor(step, tag, parts)
            elif (number := _scalar_tensor(parts)) is not None:
                scalars[tag] = number
        if scalars or not event[numbered.EVENT_SUMMARY]:
            time = struct.unpack("<d", event.get(numbered.EVENT_TIME, bytes(8)))[0]
            return [Scalars(step, time, scalars), *others]
        return others

    def _from_tensor(self, step: int, tag: str, parts: dict[int, Any]) -> list[Record]:
        if tag.startswith(numbered.ROWS_TAG):
            return [self._rows(step, tag, parts)]
        tensor = message(parts[numbered.VALUE_TENSOR])
        plain = json.loads(tensor[numbered.TENSOR_STRINGS])
        record = from_plain(tag.removeprefix(numbered.RECORD_TAG), plain)
        return [] if record is None else [record]

    def _rows(self, step: int, tag: str, parts: dict[int, Any]) -> TensorRows:
        if numbered.VALUE_METADATA in parts:
            self._tables[tag] = _table(parts[numbered.VALUE_METADATA])
        tensor = message(parts[numbered.VALUE_TENSOR])
        content = np.frombuffer(tensor[numbered.TENSOR_CONTENT], "<f4").astype(np.float32, copy=False)
        return TensorRows(step, self._tables[tag], content.reshape(_shape(tensor[numbered.TENSOR_SHAPE])))


def _single(number: bytes) -> float:
    value: float = struct.unpack("<f", number)[0]
    return value


def _scalar_tensor(parts: dict[int, Any]) -> float | None:
    """A scalar in the newer form: a tensor of floats without dimensions."""
    tensor = message(parts.get(numbered.VALUE_TENSOR, b""))
    if tensor.get(numbered.TENSOR_SHAPE):
        return None
    content, kind = tensor.get(numbered.TENSOR_CONTENT), tensor.get(numbered.TENSOR_TYPE)
    if kind == numbered.DOUBLE:
        number = content or tensor.get(numbered.TENSOR_DOUBLES)
        return struct.unpack("<d", number)[0] if number else None
    number = content or tensor.get(numbered.TENSOR_FLOATS)
    return _single(number) if number and kind == numbered.FLOAT else None


def _table(metadata: bytes) -> Table:
    whose = message(metadata)
    plugin = message(whose[numbered.METADATA_PLUGIN])
    plain = json.loads(plugin[numbered.PLUGIN_CONTENT])
    names, columns, dtypes = (tuple(plain.get(key, ())) for key in ("names", "columns", "dtypes"))
    return Table(plain["kind"], plain["root"], names, columns, dtypes)


def _shape(shape: bytes) -> tuple[int, ...]:
    sizes: list[int] = []
    for _, dimension in fields(shape):
        parts = message(dimension)
        sizes.append(parts.get(numbered.DIMENSION_SIZE, 0))
    return tuple(sizes)


# Scalar events of a layout met before, read in one go instead of field by field.
_MOST_ALIKE = 8  # layouts of one length that are worth a try


class Layouts:
    """The layouts met so far, by the length of their events. An event that differs from all of them in
    anything but time, step and values is not recognised."""

    def __init__(self) -> None:
        self._by_length: defaultdict[int, list[_Layout]] = defaultdict(list)

    def read(self, event: bytes) -> Scalars | None:
        for layout in self._by_length.get(len(event), ()):
            scalars = layout.read(event)
            if scalars is not None:
                return scalars
        return None

    def learn(self, event: bytes, scalars: Scalars) -> None:
        alike = self._by_length[len(event)]
        if len(alike) < _MOST_ALIKE:
            alike.append(_Layout(tuple(scalars.values)))


class _Layout:
    def __init__(self, tags: tuple[str, ...]) -> None:
        values = [scalar_value(tag) for tag in tags]
        head = key(EVENT_SUMMARY, BYTES) + varint(sum(map(len, values)))
        pattern = re.escape(key(EVENT_TIME, FIXED64)) + b"(.{8})"
        pattern += re.escape(key(EVENT_STEP, VARINT)) + b"([\\x80-\\xff]{0,9}[\\x00-\\x7f])" + re.escape(head)
        pattern += b"".join(re.escape(value[:-4]) + b"(.{4})" for value in values)
        self._tags = tags
        self._match = re.compile(pattern, re.DOTALL).fullmatch
        self._numbers = struct.Struct(f"<d{len(tags)}f")

    def read(self, event: bytes) -> Scalars | None:
        match = self._match(event)
        if match is None:
            return None
        time_bytes, step_bytes, *value_bytes = match.groups()
        time, *values = self._numbers.unpack(b"".join([time_bytes, *value_bytes]))
        step = signed(read_varint(step_bytes, 0)[0])
        return Scalars(step, time, dict(zip(self._tags, values, strict=True)))
