"""One event, field by field: the slow and obvious way, for whatever is not recognised as many scalars of one layout."""

from __future__ import annotations

import math
import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log import protobuf as numbers
from torch_debugger.log.protobuf import (
    DIMENSION_SIZE,
    SHAPE_DIMENSION,
    TENSOR_CONTENT,
    TENSOR_SHAPE,
    TENSOR_STRINGS,
    TENSOR_TYPE,
    as_bytes,
    fields,
    message,
    read_varint,
    signed,
)

SCALARS, HISTOGRAMS, PICTURES, TEXTS, SOUNDS, TENSORS = (
    "scalars", "histograms", "pictures", "texts", "sounds", "tensors",
)  # fmt: skip
GRAPHS, MESHES = "graphs", "mesh"
RECORDS, ROWS = "records", "rows"  # our own
_FORMS = {
    numbers.VALUE_IMAGE: PICTURES,
    numbers.VALUE_HISTOGRAM: HISTOGRAMS,
    numbers.VALUE_SOUND: SOUNDS,
    numbers.VALUE_TENSOR: TENSORS,
}
_PLUGINS = {"histograms": HISTOGRAMS, "images": PICTURES, "text": TEXTS, "audio": SOUNDS}

# What an event raises whose frame is sound and whose content is something else.
FOREIGN = (ValueError, TypeError, KeyError, AttributeError, struct.error, OverflowError, RecursionError)


class SummaryValue(NamedTuple):
    """One tag of a summary."""

    tag: str
    kind: str
    number: float  # of a scalar
    form: int  # the field that holds the body
    body: bytes
    plugin_content: bytes


class Event(NamedTuple):
    step: int
    time: float
    values: list[SummaryValue]
    is_empty: bool  # a summary without values
    starts_session: bool


class EventParser:
    """Remembers whose tags are: writers say it in a tag's first event only."""

    def __init__(self) -> None:
        self._plugins: dict[str, str] = {}

    def parse(self, payload: bytes) -> Event:
        """Raises one of FOREIGN for what is no event."""
        parts = message(payload)
        step = signed(parts.get(numbers.EVENT_STEP, 0))
        (time,) = struct.unpack("<d", parts.get(numbers.EVENT_TIME, bytes(8)))
        summary = fields(parts.get(numbers.EVENT_SUMMARY, b""))
        values = [self._value(body) for number, body in summary if number == numbers.SUMMARY_VALUE]
        return Event(
            step, time, values + _graph(parts), parts.get(numbers.EVENT_SUMMARY) == b"",
            message(parts.get(numbers.EVENT_SESSION, b"")).get(numbers.SESSION_STATUS) == numbers.SESSION_START,
        )  # fmt: skip

    def _value(self, data: bytes) -> SummaryValue:
        parts = message(data)
        # Bytes that are no text are kept apart from one another, whatever they are.
        tag = parts.get(numbers.VALUE_TAG, b"").decode("utf-8", "surrogateescape")
        if numbers.VALUE_SIMPLE in parts:
            (number,) = struct.unpack("<f", parts[numbers.VALUE_SIMPLE])
            return SummaryValue(tag, SCALARS, number, numbers.VALUE_SIMPLE, b"", b"")
        form = next((form for form in _FORMS if form in parts), 0)
        body = parts.get(form, b"")
        metadata = message(parts.get(numbers.VALUE_METADATA, b""))
        plugin = message(metadata.get(numbers.METADATA_PLUGIN, b""))
        if numbers.PLUGIN_NAME in plugin:
            self._plugins[tag] = plugin[numbers.PLUGIN_NAME].decode("utf-8", "replace")
        content: bytes = plugin.get(numbers.PLUGIN_CONTENT, b"")
        if form == numbers.VALUE_TENSOR:
            return self._tensor(tag, body, content)
        kind = _FORMS.get(form) or self._plugins.get(tag, TENSORS)
        return SummaryValue(tag, kind, 0.0, form, body, content)

    def _tensor(self, tag: str, body: bytes, content: bytes) -> SummaryValue:
        number = None
        if tag.startswith(numbers.ROWS_TAG):
            kind = ROWS
        elif tag.startswith(numbers.RECORD_TAG):
            kind = RECORDS
        else:
            plugin = self._plugins.get(tag, "")
            if plugin in ("scalars", ""):
                number = read_single(body)
                kind = TENSORS if number is None else SCALARS
            else:
                kind = _PLUGINS.get(plugin, plugin)
        return SummaryValue(tag, kind, 0.0 if number is None else number, numbers.VALUE_TENSOR, body, content)


def _graph(parts: dict[int, Any]) -> list[SummaryValue]:
    """A graph has no tag of its own."""
    graph = parts.get(numbers.EVENT_GRAPH)
    if graph is None and numbers.EVENT_META_GRAPH in parts:
        graph = message(parts[numbers.EVENT_META_GRAPH]).get(numbers.META_GRAPH_GRAPH)
    return [] if graph is None else [SummaryValue("graph", GRAPHS, 0.0, numbers.EVENT_GRAPH, graph, b"")]


# TensorProto to numpy: every numeric type in each of the forms in which writers store it.
_MOST_DIMENSIONS = 254  # TensorFlow's own limit
_MOST_REPEATED = 1 << 24  # numbers that one stands for


def read_strings(tensor: bytes) -> list[bytes]:
    return [as_bytes(value) for number, value in fields(tensor) if number == TENSOR_STRINGS]


def read_single(tensor: bytes) -> float | None:
    """The number in a tensor that holds exactly one; None for every other tensor."""
    parts = message(tensor)
    if math.prod(shape_of(parts)) != 1 or parts.get(TENSOR_TYPE) == numbers.STRING:
        return None
    values = _values(tensor, parts)
    return None if values is None or values.size != 1 else float(values[0])


def read_numbers(tensor: bytes) -> NDArray[np.float64]:
    """All numbers in their shape. Raises ValueError for a tensor of text, or one that lacks numbers."""
    parts = message(tensor)
    values, shape = _values(tensor, parts), shape_of(parts)
    if values is None:
        raise ValueError("a tensor without numbers")
    if values.size == 1 and math.prod(shape) > 1:  # the last number stands for all that follow
        if math.prod(shape) > _MOST_REPEATED:
            raise ValueError(f"a tensor that claims {math.prod(shape)} numbers and holds one")
        values = np.repeat(values, math.prod(shape))
    return values.reshape(shape).astype(np.float64)


def _values(tensor: bytes, parts: dict[int, Any]) -> NDArray[Any] | None:
    kind, content = parts.get(TENSOR_TYPE, 0), parts.get(TENSOR_CONTENT, b"")
    if content:
        return _raw(as_bytes(content), kind)
    joined = dict.fromkeys((numbers.TENSOR_FLOATS, numbers.TENSOR_DOUBLES), b"")
    whole: list[int] = []
    for number, value in fields(tensor):
        if number in joined:
            joined[number] += as_bytes(value)
        elif number in numbers.TENSOR_VARINTS or number == numbers.TENSOR_HALVES:
            whole += [value] if isinstance(value, int) else _unpacked(value)
    if kind in (numbers.HALF, numbers.BFLOAT16):
        return _raw(np.array(whole, np.uint64).astype("<u2").tobytes(), kind)
    if whole:
        return np.array([value if kind == numbers.UINT64 else signed(value) for value in whole])
    if joined[numbers.TENSOR_DOUBLES]:
        return np.frombuffer(joined[numbers.TENSOR_DOUBLES], "<f8")
    return np.frombuffer(joined[numbers.TENSOR_FLOATS], "<f4")


def _raw(content: bytes, kind: int) -> NDArray[Any] | None:
    if kind == numbers.BFLOAT16:  # the upper half of a float32
        return (np.frombuffer(content, "<u2").astype("<u4") << 16).view("<f4")
    return np.frombuffer(content, numbers.RAW_TYPES[kind]) if kind in numbers.RAW_TYPES else None


def _unpacked(packed: bytes) -> list[int]:
    values, position = [], 0
    while position < len(packed):
        value, position = read_varint(packed, position)
        values.append(value)
    return values


def shape_of(parts: dict[int, Any]) -> tuple[int, ...]:
    dimensions = [
        as_bytes(each) for number, each in fields(as_bytes(parts.get(TENSOR_SHAPE, b""))) if number == SHAPE_DIMENSION
    ]
    if len(dimensions) > _MOST_DIMENSIONS:
        raise ValueError(f"a tensor of {len(dimensions)} dimensions")
    return tuple(int(message(each).get(DIMENSION_SIZE, 0)) for each in dimensions)


def _bounded(size: int) -> int:
    if size > 1 << 24:
        raise ValueError(f"a tensor that claims {size} numbers and holds one")
    return size
