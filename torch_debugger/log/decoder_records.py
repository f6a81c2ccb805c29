"""Events back to records; what this version does not know is left out."""

from __future__ import annotations

import json
import re
import struct
from collections import defaultdict

import numpy as np

from torch_debugger.log.decoder_values import (
    FOREIGN,
    RECORDS,
    ROWS,
    SCALARS,
    Event,
    EventParser,
    SummaryValue,
    read_single,
    shape_of,
)
from torch_debugger.log.protobuf import (
    BYTES,
    DOUBLE,
    EVENT_STEP,
    EVENT_SUMMARY,
    EVENT_TIME,
    FIXED64,
    FLOAT,
    RECORD_TAG,
    TENSOR_CONTENT,
    TENSOR_SHAPE,
    TENSOR_STRINGS,
    TENSOR_TYPE,
    VALUE_TENSOR,
    VARINT,
    key,
    message,
    read_varint,
    scalar_value,
    signed,
    varint,
)
from torch_debugger.records import Record, Scalars, Table, TensorRows
from torch_debugger.records.codec import from_plain


class Decoder:
    """Reads the events of one file; keeps the headings of its tables."""

    def __init__(self) -> None:
        self._parser = EventParser()
        self._tables: dict[str, Table] = {}
        self._layouts = Layouts()

    def decode(self, payload: bytes) -> list[Record]:
        known = self._layouts.read(payload)
        if known is not None:
            return [known]
        try:
            records = self._records(self._parser.parse(payload))
        except FOREIGN:
            return []
        if len(records) == 1 and isinstance(records[0], Scalars):
            self._layouts.learn(payload, records[0])
        return records

    def _records(self, event: Event) -> list[Record]:
        scalars: dict[str, float] = {}
        others: list[Record] = []
        for value in event.values:
            value.tag.encode()  # raises where its bytes are no text: records hold none
            if value.kind == ROWS:
                others.append(self._rows(event.step, value))
            elif value.kind == RECORDS:
                plain = json.loads(message(value.body)[TENSOR_STRINGS])
                record = from_plain(value.tag.removeprefix(RECORD_TAG), plain)
                others += [] if record is None else [record]
            elif (number := _number(value)) is not None:
                scalars[value.tag] = number
        if scalars or event.is_empty:
            return [Scalars(event.step, event.time, scalars), *others]
        return others

    def _rows(self, step: int, value: SummaryValue) -> TensorRows:
        if value.plugin_content:
            plain = json.loads(value.plugin_content)
            names, columns, dtypes = (tuple(plain.get(key, ())) for key in ("names", "columns", "dtypes"))
            self._tables[value.tag] = Table(plain["kind"], plain["root"], names, columns, dtypes)
        tensor = message(value.body)
        content = np.frombuffer(tensor[TENSOR_CONTENT], "<f4").astype(np.float32, copy=False)
        return TensorRows(step, self._tables[value.tag], content.reshape(shape_of(tensor)))


def _number(value: SummaryValue) -> float | None:
    """Of a scalar, or a float without dimensions that `add_tensor` logged."""
    if value.kind == SCALARS:
        return value.number
    tensor = message(value.body) if value.form == VALUE_TENSOR else {}
    is_one = not tensor.get(TENSOR_SHAPE) and tensor.get(TENSOR_TYPE) in (FLOAT, DOUBLE)
    return read_single(value.body) if is_one else None


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
