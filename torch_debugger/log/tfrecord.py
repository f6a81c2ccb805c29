"""Payloads in the frames of an event file: length, checksum of the length, payload, its checksum."""

from __future__ import annotations

import functools
import io
import itertools
import struct
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

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


def read_frames(file: io.FileIO, start: int, size: int, end: int = sys.maxsize) -> Iterator[tuple[int, bytes]]:
    """The place and the payload of each sound frame from `start` on, read `size` bytes at once; nothing behind the
    first unsound one or behind `end`."""
    wanted = size
    while True:
        file.seek(start)
        data = file.read(min(wanted, end - start)) or b""
        frames = unframe(data)
        for payload in frames.payloads:
            yield start, payload
            start += len(payload) + FRAME_BYTES
        if frames.damaged or (len(data) < wanted and not frames.consumed):
            return
        wanted = size if frames.consumed else 2 * wanted  # a frame larger than what was read


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


# CRC-32C, the checksum of event files, for many payloads at once.
#
# The checksum is linear over bits: a byte adds a number that depends only on the byte and on its distance from the
# end, and the numbers are joined by xor. So a table per position within a block replaces the loop over bytes; the
# blocks' checksums are bytes again, whose distance from the end is known as well, and so on up.
_POLYNOMIAL = 0x82F63B78  # Castagnoli, bits reversed
_ALL_ONES = 0xFFFFFFFF
_BLOCK = 128  # bytes that share one set of tables (128 KB)
_BLOCKS_AT_ONCE = 2048  # bounds the memory for table indices
_WORTH_NUMPY = 250  # bytes; below this the plain loop is faster

Checksums = NDArray[np.uint32]


@overload
def mask(checksum: int) -> int: ...
@overload
def mask(checksum: Checksums) -> Checksums: ...
def mask(checksum: Any) -> Any:
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
    answer: list[int] = crc32c_of_rows(rows).tolist()
    return answer


def _one_by_one(data: bytes) -> int:
    table = _plain_table()
    checksum = _ALL_ONES
    for byte in data:
        checksum = table[(checksum ^ byte) & 0xFF] ^ (checksum >> 8)
    return checksum ^ _ALL_ONES


def crc32c_of_rows(rows: NDArray[np.uint8]) -> Checksums:
    """The checksum of every row; rows have at least four bytes."""
    count = len(rows)
    left = rows.copy()
    left[:, :4] ^= 0xFF  # the same as a register that starts with all ones
    for level in itertools.count():
        parts = _join_blocks(_fill_blocks(left), _tables(level)).reshape(count, -1)
        if parts.shape[1] == 1:
            break
        left = parts.astype("<u4").view(np.uint8)
    checksums: Checksums = parts[:, 0] ^ np.uint32(_ALL_ONES)
    return checksums


def _fill_blocks(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    count, length = rows.shape
    if length <= _BLOCK:
        return rows
    lead = -length % _BLOCK  # zeros in front change nothing
    padded = np.zeros((count, lead + length), np.uint8)
    padded[:, lead:] = rows
    return padded.reshape(-1, _BLOCK)


def _join_blocks(blocks: NDArray[np.uint8], tables: Checksums) -> Checksums:
    width = blocks.shape[1]
    entries = tables[-width:].ravel()
    first_entries = np.arange(width, dtype=np.intp) * 256
    answer = np.empty(len(blocks), np.uint32)
    for start in range(0, len(blocks), _BLOCKS_AT_ONCE):
        some = slice(start, start + _BLOCKS_AT_ONCE)
        answer[some] = np.bitwise_xor.reduce(entries.take(blocks[some] + first_entries), axis=1)
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
def _tables(level: int) -> Checksums:
    """For each position in a block, what the byte there adds. The bytes of level 0 are data; those of a
    higher level are the checksums of the blocks below, four bytes each."""
    if level == 0:
        tables = [_byte_table()]
        while len(tables) < _BLOCK:
            tables.append(_pass_one_zero(tables[-1]))
        return np.stack(tables[::-1])
    below = _pass_block(level - 1)
    units = [_registers()]
    while len(units) < _BLOCK // 4:
        units.append(_pass(units[-1], below))
    return np.concatenate(units[::-1])


@functools.cache
def _pass_block(level: int) -> Checksums:
    """What as many zero bytes as a block of that level spans make of a register, by its four bytes."""
    step = _pass_one_zero if level == 0 else functools.partial(_pass, tables=_pass_block(level - 1))
    registers = _registers()
    for _ in range(_BLOCK if level == 0 else _BLOCK // 4):
        registers = step(registers)
    return registers


def _registers() -> Checksums:
    shifts = np.array([[0], [8], [16], [24]], np.uint32)
    registers: Checksums = np.arange(256, dtype=np.uint32) << shifts
    return registers


def _pass(checksums: Checksums, tables: Checksums) -> Checksums:
    low, second = tables[0][checksums & 0xFF], tables[1][checksums >> 8 & 0xFF]
    third, high = tables[2][checksums >> 16 & 0xFF], tables[3][checksums >> 24]
    answer: Checksums = low ^ second ^ third ^ high
    return answer


# CRC-32C of rows that differ in a few columns only.
#
# The checksum is linear over bits: each byte adds a number that depends on the byte and on its distance from the end.
# So the columns that all rows share are summed up once, and only the others are looked at row by row.
LONGEST = 8192  # bytes of a payload; each byte of distance has a table of 1 KB

_Numbers = NDArray[np.uint32]


def crc32c_of_similar_rows(rows: NDArray[np.uint8], length: int, columns: list[int]) -> _Numbers:
    """Of the first `length` bytes of every row; all rows are alike there except in `columns`."""
    shared = rows[0, :length].copy()
    shared[columns] = 0
    checksums = np.full(len(rows), crc32c(shared.tobytes()), np.uint32)
    for column in columns:
        checksums ^= _table(length - 1 - column).take(rows[:, column])
    return checksums


def masked(checksums: _Numbers) -> _Numbers:
    """As `runlog.crc.mask`, for many."""
    turned: _Numbers = ((checksums >> 15) | (checksums << 17)) + np.uint32(0xA282EAD8)
    return turned


def _table(distance: int) -> _Numbers:
    """What each byte adds that far from the end."""
    tables = _checksums_tables()
    while len(tables) <= distance:
        last = tables[-1]
        tables.append(tables[0][last & 0xFF] ^ (last >> 8))  # one more zero behind it
    return tables[distance]


@functools.cache
def _checksums_tables() -> list[_Numbers]:
    single = np.array(crc32c_of_each([bytes([byte]) for byte in range(256)]), np.uint32)
    return [single ^ single[0]]
