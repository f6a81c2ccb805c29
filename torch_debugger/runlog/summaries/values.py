"""The parts that the events of all summaries share: values with a tag, metadata, arrays."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from torch_debugger.records import Summary
from torch_debugger.runlog import events as numbered
from torch_debugger.runlog.wire import FIXED64, bytes_field, key, number_field

_DISPLAY_NAME, _DESCRIPTION = 2, 3  # of SummaryMetadata
# DataType in types.proto, by numpy's own name
_TYPES = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "complex64": 8, "int64": 9,
    "bool": 10, "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23,
}  # fmt: skip


def event(record: Summary, *values: bytes) -> bytes:
    summary = bytes_field(numbered.EVENT_SUMMARY, *values)
    return numbered.event_time(record.time) + number_field(numbered.EVENT_STEP, record.step) + summary


def value(tag: str, *parts: bytes) -> bytes:
    return bytes_field(numbered.SUMMARY_VALUE, bytes_field(numbered.VALUE_TAG, numbered.text(tag)), *parts)


def metadata(plugin: str, content: bytes = b"", display_name: str = "", description: str = "") -> bytes:
    """Says which of TensorBoard's plugins shows the value."""
    named = bytes_field(numbered.PLUGIN_NAME, plugin.encode())
    parts = [bytes_field(numbered.METADATA_PLUGIN, named, bytes_field(numbered.PLUGIN_CONTENT, content))]
    if display_name:
        parts.append(bytes_field(_DISPLAY_NAME, numbered.text(display_name)))
    if description:
        parts.append(bytes_field(_DESCRIPTION, numbered.text(description)))
    return bytes_field(numbered.VALUE_METADATA, *parts)


def array_tensor(values: NDArray[np.generic]) -> bytes:
    if values.dtype.name not in _TYPES:
        raise TypeError(f"TensorBoard has no tensors of dtype {values.dtype.name}")
    kind = number_field(numbered.TENSOR_TYPE, _TYPES[values.dtype.name])
    content = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
    return bytes_field(
        numbered.VALUE_TENSOR, kind, _shape(values.shape), bytes_field(numbered.TENSOR_CONTENT, content)
    )


def bytes_tensor(content: bytes, shape: tuple[int, ...] = ()) -> bytes:
    """One string; texts are lists of one, whatever else is a string has no dimension."""
    kind = number_field(numbered.TENSOR_TYPE, numbered.STRING)
    strings = bytes_field(numbered.TENSOR_STRINGS, content)
    return bytes_field(numbered.VALUE_TENSOR, kind, _shape(shape), strings)


def double_field(number: int, value: float) -> bytes:
    return key(number, FIXED64) + struct.pack("<d", value)


def _shape(shape: tuple[int, ...]) -> bytes:
    sizes = (number_field(numbered.DIMENSION_SIZE, size) for size in shape)
    return bytes_field(numbered.TENSOR_SHAPE, *(bytes_field(numbered.SHAPE_DIMENSION, size) for size in sizes))
