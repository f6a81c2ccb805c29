"""Payloads in the frames of an event file: length, checksum of the length, payload, its checksum."""

from __future__ import annotations

import functools
import io
import itertools
import os
import struct
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

HEAD_BYTES = 12
TAIL_BYTES = 4
FRAME_BYTES = HEAD_BYTES + TAIL_BYTES  # what a frame adds to its payload
PADDING = 16  # bytes behind what was read from a file, so that every row of it can be read in whole words

_pack_head, _read_head = struct.Struct("<QI").pack, struct.Struct("<QI").unpack_from
_pack_tail = struct.Struct("<I").pack

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]


class Frames(NamedTuple):
    """Whole ones whose length is sound; their payloads need not be."""

    starts: Integers
    lengths: Integers  # of their payloads
    damaged: bool  # what follows them is no frame; False where they only end too early

    @property
    def end(self) -> int:
        return int(self.starts[-1] + self.lengths[-1]) + FRAME_BYTES if len(self.starts) else 0

    def sound_payloads(self, data: Bytes, which: list[int] | slice = slice(None)) -> list[bytes]:
        """Of these frames, by number, up to the first whose checksum does not fit."""
        view = data.data
        starts, ends = self.starts[which] + HEAD_BYTES, (self.starts + self.lengths)[which] + HEAD_BYTES
        places = list(zip(starts.tolist(), ends.tolist(), strict=True))
        payloads = [bytes(view[start:end]) for start, end in places]
        for index, checksum in enumerate(crc32c_of_each(payloads)):
            end = places[index][1]
            if view[end : end + TAIL_BYTES] != _pack_tail(mask(checksum)):
                return payloads[:index]
        return payloads


def frame(payloads: Sequence[bytes]) -> bytes:
    parts: list[bytes] = []
    for payload, checksum in zip(payloads, crc32c_of_each(payloads), strict=True):
        parts += (_head(len(payload)), payload, _pack_tail(mask(checksum)))
    return b"".join(parts)


def frame_rows(payloads: Bytes) -> Bytes:
    """The same for payloads of one length, each a row of bytes: a row of bytes each."""
    count, length = payloads.shape
    frames = np.empty((count, length + FRAME_BYTES), np.uint8)
    frames[:, :HEAD_BYTES] = np.frombuffer(_head(length), np.uint8)
    frames[:, HEAD_BYTES:-TAIL_BYTES] = payloads
    tails = mask(crc32c_of_rows(payloads)).astype("<u4")
    frames[:, -TAIL_BYTES:] = tails[:, None].view(np.uint8)
    return frames


def unframe(data: bytes) -> list[bytes]:
    """The payloads of the sound frames at the start of `data`; nothing behind the first unsound one."""
    found = np.frombuffer(data, np.uint8)
    return split(found).sound_payloads(found)


def read_frames(file: io.FileIO, start: int, size: int, end: int = sys.maxsize) -> Iterator[tuple[int, bytes]]:
    """The place and the payload of each sound frame from `start` on, read `size` bytes at once; nothing behind the
    first unsound one or behind `end`."""
    for first, padded, frames in read_chunks(file, start, size, end):
        payloads = frames.sound_payloads(padded)
        yield from zip((frames.starts + first).tolist(), payloads, strict=False)
        if len(payloads) < len(frames.starts):
            return


def read_chunks(file: io.FileIO, start: int, size: int, end: int = sys.maxsize) -> Iterator[tuple[int, Bytes, Frames]]:
    """From `start` on, read `size` bytes at once, whole frames of them and no more than the file has now: the place of
    the bytes, the bytes with PADDING behind them, and the frames in them."""
    wanted = size
    while True:
        padded = read_padded(file, start, min(wanted, end - start))
        got = len(padded) - PADDING
        if not got:
            return
        frames = split(padded[:got])
        yield start, padded, frames
        if frames.damaged or got < wanted:
            return
        start += frames.end
        wanted = size if frames.end else 2 * wanted  # a frame larger than what was read


def read_padded(file: io.FileIO, offset: int, size: int) -> Bytes:
    size = min(size, max(0, os.fstat(file.fileno()).st_size - offset))
    padded = np.zeros(size + PADDING, np.uint8)
    file.seek(offset)
    got = 0
    while got < size and (count := file.readinto(padded[got:size].data)):
        got += count
    return padded[: got + PADDING]


def _head(length: int) -> bytes:
    return _pack_head(length, _checksum_of_length(length))


@functools.lru_cache(maxsize=8192)
def _checksum_of_length(length: int) -> int:
    return mask(crc32c(length.to_bytes(8, "little")))


# Where the frames of an event file begin, found for thousands of them at once.
#
# The place of a frame follows from the length of the one before it. Logs repeat themselves, though: the same tags,
# step after step. So a few frames are walked one by one until their lengths repeat, and whether that goes on is asked
# of all the following ones together.
_WALKS = (256, 4096)  # frames: at first, and where so few had no rhythm
_GLANCES = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)  # a look at a few sizes rules most periods out
_FEWEST_REPEATS, _MOST_REPEATS = 32, 1 << 16


def split(data: Bytes) -> Frames:
    """The frames at the start of `data`."""
    parts: list[Integers] = []
    place, short, long = 0, *_WALKS
    walk = short
    while True:
        walked, place, damaged = _walk(data.data, place, walk)
        parts.append(np.array(walked, np.int64))
        if len(walked) < walk:
            edges = np.concatenate([*parts, np.array([place], np.int64)])
            return Frames(edges[:-1], edges[1:] - edges[:-1] - FRAME_BYTES, damaged)
        cycle = _cycle(np.diff(parts[-1], append=place))
        walk = long if cycle is None else short
        if cycle is not None:
            parts.append(_repeats(data, place, cycle))
            place += len(parts[-1]) // len(cycle) * int(cycle.sum())


def _walk(data: memoryview, place: int, most: int) -> tuple[list[int], int, bool]:
    """The starts of some frames, where they end, and whether what follows is no frame."""
    starts: list[int] = []
    end = len(data)
    while place + HEAD_BYTES <= end and len(starts) < most:
        length, checksum = _read_head(data, place)
        if checksum != _checksum_of_length(length):
            return starts, place, True
        after = place + FRAME_BYTES + length
        if after > end:
            break
        starts.append(place)
        place = after
    return starts, place, False


def _cycle(sizes: Integers) -> Integers | None:
    """The shortest cycle that the last half of the sizes goes round."""
    half = len(sizes) // 2
    fits = np.ones(half, np.bool_)  # for periods from half down to 1
    for back in _GLANCES:
        if back <= half:
            fits &= sizes[-back - half : len(sizes) - back] == sizes[-back]
    for period in half - np.flatnonzero(fits)[::-1]:
        if np.array_equal(sizes[-half:], sizes[-half - period : len(sizes) - period]):
            return sizes[-period:]
    return None


def _repeats(data: Bytes, place: int, cycle: Integers) -> Integers:
    """The starts of all frames from `place` on that go round this cycle, whole rounds only."""
    round_bytes, offsets = int(cycle.sum()), np.cumsum(cycle) - cycle
    room, many, found = (len(data) - place) // round_bytes, _FEWEST_REPEATS, 0
    while found < room:
        tried = min(many, room - found)
        first = place + found * round_bytes
        same = min(
            _agreeing(data, first + int(offset), round_bytes, tried, int(size) - FRAME_BYTES)
            for offset, size in zip(offsets, cycle, strict=True)
        )
        found += same
        if same < tried:
            break
        many = min(8 * many, _MOST_REPEATS)
    rounds = place + round_bytes * np.arange(found, dtype=np.int64)
    return (rounds[:, None] + offsets).ravel()


def _agreeing(data: Bytes, first: int, stride: int, count: int, length: int) -> int:
    """How many of the heads that stand there, one per stride, are of this length before the first that is not."""
    same = np.ndarray(count, "<u8", data, first, (stride,)) == length
    same &= np.ndarray(count, "<u4", data, first + 8, (stride,)) == _checksum_of_length(length)
    return count if same.all() else int(same.argmin())


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
    for length, alike in places.items():
        found: Iterator[int]
        same = [payloads[place] for place in alike]
        if length < 4 or length * len(same) < _WORTH_NUMPY:
            found = map(_one_by_one, same)
        else:
            rows = np.frombuffer(b"".join(same), np.uint8).reshape(len(same), length)
            found = iter(crc32c_of_rows(rows).tolist())
        for place, checksum in zip(alike, found, strict=True):
            checksums[place] = checksum
    return checksums


def _one_by_one(data: bytes) -> int:
    table = _plain_table()
    checksum = _ALL_ONES
    for byte in data:
        checksum = table[(checksum ^ byte) & 0xFF] ^ (checksum >> 8)
    return checksum ^ _ALL_ONES


@functools.cache
def _plain_table() -> list[int]:
    table: list[int] = _byte_table().tolist()
    return table


def crc32c_of_rows(rows: NDArray[np.uint8]) -> Checksums:
    """The checksum of every row; rows have at least four bytes."""
    count = len(rows)
    left = rows.copy()
    left[:, :4] ^= 0xFF  # the same as a register that starts with all ones
    for level in itertools.count():
        if left.shape[1] > _BLOCK:
            lead = -left.shape[1] % _BLOCK  # zeros in front change nothing
            left = np.pad(left, ((0, 0), (lead, 0))).reshape(-1, _BLOCK)
        parts = _join_blocks(left, _tables(level)).reshape(count, -1)
        if parts.shape[1] == 1:
            break
        left = parts.astype("<u4").view(np.uint8)
    checksums: Checksums = parts[:, 0] ^ np.uint32(_ALL_ONES)
    return checksums


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


# Bytes of a payload whose checksum `crc32c_of_similar_rows` knows; each byte of distance has a table of 1 KB.
LONGEST = 8192


def crc32c_of_similar_rows(rows: NDArray[np.uint8], length: int, columns: list[int]) -> Checksums:
    """Of the first `length` bytes of every row; all rows are alike there except in `columns`: only those are
    looked at row by row."""
    shared = rows[0, :length].copy()
    shared[columns] = 0
    checksums = np.full(len(rows), crc32c(shared.tobytes()), np.uint32)
    tables = _tables_by_distance()
    for column in columns:
        distance = length - 1 - column
        while len(tables) <= distance:
            tables.append(_pass_one_zero(tables[-1]))
        checksums ^= tables[distance].take(rows[:, column])
    return checksums


@functools.cache
def _tables_by_distance() -> list[Checksums]:
    """What each byte adds that far from the end."""
    return [_byte_table()]
