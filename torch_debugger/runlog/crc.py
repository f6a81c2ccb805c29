"""CRC-32C, the checksum of event files, for many payloads at once.

The checksum is linear over bits: a byte adds a number that depends only on the byte and on its distance
from the end, and the numbers are joined by xor. So a table per position within a block replaces the loop
over bytes, and the checksums of two neighbouring parts join into one.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78  # Castagnoli, bits reversed
_ALL_ONES = 0xFFFFFFFF
_BLOCK = 64  # bytes that share one set of position tables (64 KB)
_BLOCKS_AT_ONCE = 4096  # bounds the memory for table indices
_WORTH_NUMPY = 400  # bytes; below this the plain loop is faster

Checksums = NDArray[np.uint32]


def mask(checksum: int) -> int:
    """The form stored in event files: rotated and shifted, so that data holding checksums stays safe."""
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & _ALL_ONES


def crc32c(data: bytes) -> int:
    return crc32c_of_each([data])[0]


def crc32c_of_each(payloads: Sequence[bytes]) -> list[int]:
    """The checksum of every payload; those of one length are computed together."""
    places: dict[int, list[int]] = defaultdict(list)
    for place, payload in enumerate(payloads):
        places[len(payload)].append(place)
    checksums = [0] * len(payloads)
    for alike in places.values():
        for place, checksum in zip(alike, _of_one_length([payloads[i] for i in alike]), strict=True):
            checksums[place] = checksum
    return checksums


def _of_one_length(payloads: list[bytes]) -> list[int]:
    length = len(payloads[0])
    if length < 4 or length * len(payloads) < _WORTH_NUMPY:
        return [_one_by_one(payload) for payload in payloads]
    rows = np.frombuffer(b"".join(payloads), np.uint8).reshape(len(payloads), length)
    answer: list[int] = (_of_rows(rows) ^ np.uint32(_ALL_ONES)).tolist()
    return answer


def _one_by_one(data: bytes) -> int:
    table = _plain_table()
    checksum = _ALL_ONES
    for byte in data:
        checksum = table[(checksum ^ byte) & 0xFF] ^ (checksum >> 8)
    return checksum ^ _ALL_ONES


def _of_rows(rows: NDArray[np.uint8]) -> Checksums:
    count, length = rows.shape
    lead = -length % _BLOCK  # zeros in front change nothing as long as the register is zero
    padded = np.zeros((count, lead + length), np.uint8)
    padded[:, lead:] = rows
    padded[:, lead : lead + 4] ^= 0xFF  # the same as a register that starts with all ones
    parts = _of_blocks(padded.reshape(-1, _BLOCK)).reshape(count, -1)
    return _join(parts)


def _of_blocks(blocks: NDArray[np.uint8]) -> Checksums:
    table = _position_tables().ravel()
    first_entries = np.arange(_BLOCK, dtype=np.intp) * 256
    answer = np.empty(len(blocks), np.uint32)
    for start in range(0, len(blocks), _BLOCKS_AT_ONCE):
        some = slice(start, start + _BLOCKS_AT_ONCE)
        answer[some] = np.bitwise_xor.reduce(table.take(blocks[some] + first_entries), axis=1)
    return answer


def _join(parts: Checksums) -> Checksums:
    """Neighbours pairwise into one, until each row has a single checksum."""
    span = _BLOCK
    while parts.shape[1] > 1:
        if parts.shape[1] % 2:
            parts = np.concatenate([np.zeros((len(parts), 1), np.uint32), parts], axis=1)
        parts = _pass_zeros(parts[:, 0::2], _zeros_tables(span)) ^ parts[:, 1::2]
        span *= 2
    return parts[:, 0]


def _pass_zeros(checksums: Checksums, tables: Checksums) -> Checksums:
    low, second = tables[0][checksums & 0xFF], tables[1][checksums >> 8 & 0xFF]
    third, high = tables[2][checksums >> 16 & 0xFF], tables[3][checksums >> 24]
    answer: Checksums = low ^ second ^ third ^ high
    return answer


@functools.cache
def _byte_table() -> Checksums:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> 1) ^ (table & 1) * np.uint32(_POLYNOMIAL)
    return table


@functools.cache
def _plain_table() -> list[int]:
    table: list[int] = _byte_table().tolist()
    return table


def _pass_one_zero(checksums: Checksums) -> Checksums:
    answer: Checksums = _byte_table()[checksums & 0xFF] ^ (checksums >> 8)
    return answer


@functools.cache
def _position_tables() -> Checksums:
    tables = [_byte_table()]
    for _ in range(_BLOCK - 1):
        tables.append(_pass_one_zero(tables[-1]))
    return np.stack(tables[::-1])


@functools.cache
def _zeros_tables(count: int) -> Checksums:
    """What `count` zero bytes make of a register, for each of its four bytes; _BLOCK times a power of two."""
    if count > _BLOCK:
        half = _zeros_tables(count // 2)
        return _pass_zeros(half, half)
    registers = np.arange(256, dtype=np.uint32) << np.array([[0], [8], [16], [24]], np.uint32)
    for _ in range(count):
        registers = _pass_one_zero(registers)
    return registers
