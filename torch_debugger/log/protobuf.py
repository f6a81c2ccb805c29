"""The protobuf wire format, as far as event files need it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {FIXED64: 8, FIXED32: 4}


def varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF  # negative numbers are sent as their two's complement
    answer = bytearray()
    while value > 0x7F:
        answer.append(value & 0x7F | 0x80)
        value >>= 7
    answer.append(value)
    return bytes(answer)


def key(number: int, kind: int) -> bytes:
    return varint(number << 3 | kind)


def number_field(number: int, value: int) -> bytes:
    return key(number, VARINT) + varint(value)


def bytes_field(number: int, *parts: bytes) -> bytes:
    """A string, a bytes value or an embedded message, given in parts."""
    body = b"".join(parts)
    return key(number, BYTES) + varint(len(body)) + body


def message(data: bytes) -> dict[int, Any]:
    """The fields by number, for messages that hold each at most once."""
    return {
        number: data[start:end] if value is None else value
        for number, _, start, end, value in places(data, 0, len(data))
    }


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Each field's number with its value: an int for a varint, else the bytes."""
    for number, _, start, end, value in places(data, 0, len(data)):
        yield number, data[start:end] if value is None else value


def places(data: bytes, position: int, end: int) -> Iterator[tuple[int, int, int, int, int | None]]:
    """Of each field of a message its number, its wire type, where its content begins and ends, and its value if that
    is a varint. Raises ValueError when the message is not one."""
    value: int | None
    while position < end:
        head, position = read_varint(data, position)
        kind, after, value = head & 7, position, None
        if kind == VARINT:
            value, after = read_varint(data, position)
        elif kind == BYTES:
            size, position = read_varint(data, position)
            after = position + size
        elif kind in _FIXED_SIZES:
            after = position + _FIXED_SIZES[kind]
        else:
            raise ValueError(f"no wire type {kind} in event files")
        if after > end:
            raise ValueError("the message ends inside a field")
        yield head >> 3, kind, position, after, value
        position = after


def as_bytes(value: Any) -> bytes:
    """The value of a field that must hold bytes: a foreign event may have a number there."""
    if not isinstance(value, bytes):
        raise ValueError("a number where bytes belong")
    return value


def signed(value: int) -> int:
    """The int64 that a varint stands for."""
    return value - (1 << 64) if value >> 63 else value


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position
        shift += 7
    raise ValueError("the message ends inside a number")


# Field and type numbers of event files, as TensorBoard's and TensorFlow's .proto files give them.
PLUGIN = "torch_debugger"
ROWS_TAG = f"{PLUGIN}/rows/"
RECORD_TAG = f"{PLUGIN}/record/"

EVENT_TIME, EVENT_STEP, EVENT_VERSION, EVENT_GRAPH, EVENT_SUMMARY, EVENT_SESSION, EVENT_META_GRAPH = 1, 2, 3, 4, 5, 7, 9
META_GRAPH_GRAPH = 2
SESSION_STATUS, SESSION_START = 1, 1
SUMMARY_VALUE = 1
VALUE_TAG, VALUE_SIMPLE, VALUE_IMAGE, VALUE_HISTOGRAM, VALUE_SOUND, VALUE_TENSOR, VALUE_METADATA = 1, 2, 4, 5, 6, 8, 9
METADATA_PLUGIN, METADATA_CLASS = 1, 4
PLUGIN_NAME, PLUGIN_CONTENT = 1, 2
TENSOR_TYPE, TENSOR_SHAPE, TENSOR_CONTENT, TENSOR_FLOATS, TENSOR_DOUBLES, TENSOR_STRINGS = 1, 2, 4, 5, 6, 8
TENSOR_HALVES = 13
TENSOR_VARINTS = (7, 10, 11, 16, 17)  # int_val, int64_val, bool_val, uint32_val, uint64_val
SHAPE_DIMENSION, DIMENSION_SIZE = 2, 1

FLOAT, DOUBLE, STRING, BFLOAT16, HALF, UINT64 = 1, 2, 7, 14, 19, 23  # DataType in types.proto
# DataType -> how numpy reads the raw content of such a tensor; bfloat16 has no dtype in numpy.
RAW_TYPES = {
    1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 10: "?", 17: "<u2", 19: "<f2",
    22: "<u4", 23: "<u8",
}  # fmt: skip
_CLASS_TENSOR = 2  # DataClass in summary.proto

HISTOGRAM_LEAST, HISTOGRAM_MOST, HISTOGRAM_LIMITS, HISTOGRAM_COUNTS = 1, 2, 6, 7
IMAGE_HEIGHT, IMAGE_WIDTH, IMAGE_DATA = 1, 2, 4
SOUND_RATE, SOUND_DATA, SOUND_TYPE = 1, 4, 5

HPARAMS_EXPERIMENT, HPARAMS_START, START_HPARAMS = 2, 3, 1
EXPERIMENT_METRICS, METRIC_NAME, METRIC_TAG = 5, 1, 2
ENTRY_KEY, ENTRY_VALUE = 1, 2
PLAIN_NUMBER, PLAIN_TEXT, PLAIN_TRUTH = 2, 3, 4

LAYOUT_CATEGORY, CATEGORY_TITLE, CATEGORY_CHART, CATEGORY_CLOSED = 2, 1, 2, 3
CHART_TITLE, CHART_LINES, CHART_MARGIN = 1, 2, 3
LINES_TAG, MARGIN_SERIES = 1, 1
SERIES_VALUE, SERIES_LOWER, SERIES_UPPER = 1, 2, 3


def version_event(time: float) -> bytes:
    """The first event of every file; without it readers guess at an older format."""
    return event_time(time) + bytes_field(EVENT_VERSION, b"brain.Event:2")


def restart_event(time: float, step: int) -> bytes:
    """Tells readers to leave out what was written before, from that step on."""
    start = number_field(SESSION_STATUS, SESSION_START)
    return event_time(time) + number_field(EVENT_STEP, step) + bytes_field(EVENT_SESSION, start)


def event_time(time: float) -> bytes:
    return key(EVENT_TIME, FIXED64) + struct.pack("<d", time)


def scalar_value(tag: str) -> bytes:
    """One tag of a summary; its last four bytes are the value, here zero."""
    name = bytes_field(VALUE_TAG, text(tag))
    return bytes_field(SUMMARY_VALUE, name, key(VALUE_SIMPLE, FIXED32), bytes(4))


def text(words: str) -> bytes:
    """What is no text, such as the odd bytes of a file name, is written as \\udcNN: two of them stay apart."""
    return words.encode("utf-8", "backslashreplace")


def tensor_event(time: float, step: int, tag: str, tensor: bytes, metadata: bytes = b"") -> bytes:
    value = bytes_field(VALUE_TAG, tag.encode()) + metadata + bytes_field(VALUE_TENSOR, tensor)
    return event_around(bytes_field(SUMMARY_VALUE, value), step, time)


def plugin_metadata(content: bytes = b"") -> bytes:
    """Says whose tensor it is; readers expect it in a tag's first event only."""
    plugin = bytes_field(PLUGIN_NAME, PLUGIN.encode()) + bytes_field(PLUGIN_CONTENT, content)
    whose = bytes_field(METADATA_PLUGIN, plugin) + number_field(METADATA_CLASS, _CLASS_TENSOR)
    return bytes_field(VALUE_METADATA, whose)


def float_tensor(shape: tuple[int, ...], content: bytes) -> bytes:
    return number_field(TENSOR_TYPE, FLOAT) + shape_field(shape) + bytes_field(TENSOR_CONTENT, content)


def string_tensor(text: bytes, shape: tuple[int, ...] = ()) -> bytes:
    """One string; texts are lists of one, whatever else is a string has no dimension."""
    return number_field(TENSOR_TYPE, STRING) + shape_field(shape) + bytes_field(TENSOR_STRINGS, text)


def shape_field(shape: tuple[int, ...]) -> bytes:
    sizes = (bytes_field(SHAPE_DIMENSION, number_field(DIMENSION_SIZE, size)) for size in shape)
    return bytes_field(TENSOR_SHAPE, *sizes)


def event_around(summary: bytes, step: int, time: float) -> bytes:
    """An event of a Summary that somebody else has made."""
    return event_time(time) + number_field(EVENT_STEP, step) + bytes_field(EVENT_SUMMARY, summary)
