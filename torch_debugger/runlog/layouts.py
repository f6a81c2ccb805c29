"""Scalar events of a layout met before, read in one go instead of field by field."""

from __future__ import annotations

import re
import struct
from collections import defaultdict

from torch_debugger.records import Scalars
from torch_debugger.runlog.events import EVENT_STEP, EVENT_SUMMARY, EVENT_TIME, scalar_value
from torch_debugger.runlog.wire import BYTES, FIXED64, VARINT, key, read_varint, signed, varint

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
