"""The protobuf wire format, as far as event files need it."""

from __future__ import annotations

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
    return dict(fields(data))


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Each field's number with its value: an int for a varint, else the bytes. Raises ValueError when
    the message is not one."""
    position, end = 0, len(data)
    while position < end:
        head, position = read_varint(data, position)
        kind = head & 7
        if kind == VARINT:
            value, position = read_varint(data, position)
            yield head >> 3, value
            continue
        if kind == BYTES:
            size, position = read_varint(data, position)
        elif kind in _FIXED_SIZES:
            size = _FIXED_SIZES[kind]
        else:
            raise ValueError(f"no wire type {kind} in event files")
        if position + size > end:
            raise ValueError("the message ends inside a field")
        yield head >> 3, data[position : position + size]
        position += size


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
