"""Payloads in the frames of an event file: length, checksum of the length, payload, its checksum."""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.runlog.crc import crc32c, crc32c_of_each, crc32c_of_rows, mask

_HEAD_BYTES = 12
_TAIL_BYTES = 4
FRAME_BYTES = _HEAD_BYTES + _TAIL_BYTES  # what a frame adds to its payload

_pack_tail = struct.Struct("<I").pack


class Frames(NamedTuple):
    payloads: list[bytes]
    consumed: int  # bytes of whole, sound frames
    damaged: bool  # what follows them is no frame; False where they only end too early


def frame(payloads: Sequence[bytes]) -> bytes:
    parts: list[bytes] = []
    for payload, checksum in zip(payloads, crc32c_of_each(payloads), strict=True):
        parts += (_head(len(payload)), payload, _pack_tail(mask(checksum)))
    return b"".join(parts)


def frame_rows(payloads: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The same for payloads of one length, each a row of bytes: a row of bytes each."""
    count, length = payloads.shape
    frames = np.empty((count, length + FRAME_BYTES), np.uint8)
    frames[:, :_HEAD_BYTES] = np.frombuffer(_head(length), np.uint8)
    frames[:, _HEAD_BYTES:-_TAIL_BYTES] = payloads
    tails = mask(crc32c_of_rows(payloads)).astype("<u4")
    frames[:, -_TAIL_BYTES:] = tails[:, None].view(np.uint8)
    return frames


def unframe(data: bytes) -> Frames:
    """The payloads of the sound frames at the start of `data`; nothing behind the first unsound one."""
    payloads, ends, bad_head = _split(data)
    for index, checksum in enumerate(crc32c_of_each(payloads)):
        if data[ends[index] - _TAIL_BYTES : ends[index]] != _pack_tail(mask(checksum)):
            return Frames(payloads[:index], ends[index - 1] if index else 0, damaged=True)
    return Frames(payloads, ends[-1] if ends else 0, damaged=bad_head)


def _split(data: bytes) -> tuple[list[bytes], list[int], bool]:
    payloads: list[bytes] = []
    ends: list[int] = []
    position = 0
    while position + _HEAD_BYTES <= len(data):
        length = int.from_bytes(data[position : position + 8], "little")
        if data[position : position + _HEAD_BYTES] != _head(length):
            return payloads, ends, True
        end = position + FRAME_BYTES + length
        if end > len(data):
            break
        payloads.append(data[position + _HEAD_BYTES : end - _TAIL_BYTES])
        ends.append(end)
        position = end
    return payloads, ends, False


@functools.lru_cache(maxsize=1024)
def _head(length: int) -> bytes:
    packed = struct.pack("<Q", length)
    return packed + _pack_tail(mask(crc32c(packed)))
