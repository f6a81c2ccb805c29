"""TensorProto to numpy: every numeric type in each of the forms in which writers store it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive import numbers
from torch_debugger.runlog.events import (
    DIMENSION_SIZE,
    SHAPE_DIMENSION,
    TENSOR_CONTENT,
    TENSOR_SHAPE,
    TENSOR_STRINGS,
    TENSOR_TYPE,
)
from torch_debugger.runlog.wire import fields, message, read_varint, signed

_MOST_DIMENSIONS = 254  # TensorFlow's own limit


def read_strings(tensor: bytes) -> list[bytes]:
    return [_bytes(value) for number, value in fields(tensor) if number == TENSOR_STRINGS]


def read_single(tensor: bytes) -> float | None:
    """The number in a tensor that holds exactly one; None for every other tensor."""
    parts = message(tensor)
    if math.prod(_shape(parts)) != 1 or parts.get(TENSOR_TYPE) == numbers.TEXT:
        return None
    values = _values(tensor, parts)
    return None if values is None or values.size != 1 else float(values[0])


def read_numbers(tensor: bytes) -> NDArray[np.float64]:
    """All numbers in their shape. Raises ValueError for a tensor of text, or one that lacks numbers."""
    parts = message(tensor)
    values, shape = _values(tensor, parts), _shape(parts)
    if values is None:
        raise ValueError("a tensor without numbers")
    if values.size == 1 and math.prod(shape) > 1:  # the last number stands for all that follow
        values = np.repeat(values, _bounded(math.prod(shape)))
    return values.reshape(shape).astype(np.float64)


def _values(tensor: bytes, parts: dict[int, Any]) -> NDArray[Any] | None:
    kind, content = parts.get(TENSOR_TYPE, 0), parts.get(TENSOR_CONTENT, b"")
    if content:
        return _raw(_bytes(content), kind)
    joined = dict.fromkeys((numbers.TENSOR_FLOAT_VALUES, numbers.TENSOR_DOUBLE_VALUES), b"")
    whole: list[int] = []
    for number, value in fields(tensor):
        if number in joined:
            joined[number] += _bytes(value)
        elif number in numbers.VARINT_VALUES or number == numbers.TENSOR_HALF_VALUES:
            whole += [value] if isinstance(value, int) else _unpacked(value)
    if kind in (numbers.HALF, numbers.BFLOAT16):
        return _raw(np.array(whole, np.uint64).astype("<u2").tobytes(), kind)
    if whole:
        return np.array([value if kind == 23 else signed(value) for value in whole])
    if joined[numbers.TENSOR_DOUBLE_VALUES]:
        return np.frombuffer(joined[numbers.TENSOR_DOUBLE_VALUES], "<f8")
    return np.frombuffer(joined[numbers.TENSOR_FLOAT_VALUES], "<f4")


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


def _shape(parts: dict[int, Any]) -> tuple[int, ...]:
    dimensions = [
        _bytes(each)
        for number, each in fields(_bytes(parts.get(TENSOR_SHAPE, b"")))
        if number == SHAPE_DIMENSION
    ]
    if len(dimensions) > _MOST_DIMENSIONS:
        raise ValueError(f"a tensor of {len(dimensions)} dimensions")
    return tuple(int(message(each).get(DIMENSION_SIZE, 0)) for each in dimensions)


def _bounded(size: int) -> int:
    if size > 1 << 24:
        raise ValueError(f"a tensor that claims {size} numbers and holds one")
    return size


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a number where bytes belong")
    return value
