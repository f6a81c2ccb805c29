"""The bytes of single events, as TensorBoard's event.proto, summary.proto and tensor.proto number them."""

from __future__ import annotations

import struct

from torch_debugger.runlog.wire import FIXED32, FIXED64, bytes_field, key, number_field

PLUGIN = "torch_debugger"
ROWS_TAG = f"{PLUGIN}/rows/"
RECORD_TAG = f"{PLUGIN}/record/"

EVENT_TIME, EVENT_STEP, EVENT_VERSION, EVENT_SUMMARY, EVENT_SESSION = 1, 2, 3, 5, 7
SESSION_STATUS, SESSION_START = 1, 1
SUMMARY_VALUE = 1
VALUE_TAG, VALUE_SIMPLE, VALUE_TENSOR, VALUE_METADATA = 1, 2, 8, 9
METADATA_PLUGIN, METADATA_CLASS = 1, 4
PLUGIN_NAME, PLUGIN_CONTENT = 1, 2
TENSOR_TYPE, TENSOR_SHAPE, TENSOR_CONTENT, TENSOR_FLOATS, TENSOR_DOUBLES, TENSOR_STRINGS = 1, 2, 4, 5, 6, 8
SHAPE_DIMENSION, DIMENSION_SIZE = 2, 1

FLOAT, DOUBLE, STRING = 1, 2, 7  # DataType in types.proto
_CLASS_TENSOR = 2  # DataClass in summary.proto


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
    summary = bytes_field(EVENT_SUMMARY, bytes_field(SUMMARY_VALUE, value))
    return event_time(time) + number_field(EVENT_STEP, step) + summary


def plugin_metadata(content: bytes = b"") -> bytes:
    """Says whose tensor it is; readers expect it in a tag's first event only."""
    plugin = bytes_field(PLUGIN_NAME, PLUGIN.encode()) + bytes_field(PLUGIN_CONTENT, content)
    whose = bytes_field(METADATA_PLUGIN, plugin) + number_field(METADATA_CLASS, _CLASS_TENSOR)
    return bytes_field(VALUE_METADATA, whose)


def float_tensor(shape: tuple[int, ...], content: bytes) -> bytes:
    return number_field(TENSOR_TYPE, FLOAT) + _shape(shape) + bytes_field(TENSOR_CONTENT, content)


def string_tensor(text: bytes) -> bytes:
    return number_field(TENSOR_TYPE, STRING) + _shape(()) + bytes_field(TENSOR_STRINGS, text)


def _shape(shape: tuple[int, ...]) -> bytes:
    sizes = (bytes_field(SHAPE_DIMENSION, number_field(DIMENSION_SIZE, size)) for size in shape)
    return bytes_field(TENSOR_SHAPE, *sizes)
