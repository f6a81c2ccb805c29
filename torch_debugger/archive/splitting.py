"""Where the frames of an event file begin, found for thousands of them at once.

The place of a frame follows from the length of the one before it. Logs repeat themselves, though: the same
tags, step after step. So a few frames are walked one by one until their lengths repeat, and whether that goes
on is asked of all the following ones together.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.runlog.crc import crc32c, crc32c_of_each, mask
from torch_debugger.runlog.frames import FRAME_BYTES

HEAD_BYTES = 12
_WALKS = (256, 4096)  # frames: at first, and where so few had no rhythm
_GLANCES = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)  # a look at a few sizes rules most periods out
_FEWEST_REPEATS, _MOST_REPEATS = 32, 1 << 16
_read_length = struct.Struct("<Q").unpack_from

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]


class Split(NamedTuple):
    starts: Integers  # of the frames, whole ones with a sound head
    lengths: Integers  # of their payloads
    damaged: bool  # what follows is no frame; False where it only ends too early


def split(data: Bytes) -> Split:
    starts, end = _all_starts(data)
    lengths = np.diff(starts, append=end) - FRAME_BYTES
    sound = _sound(data, starts, lengths)
    whole = len(starts) if sound.all() else int(sound.argmin())
    bad_head = whole < len(starts) or _is_bad_head(data[end : end + HEAD_BYTES].tobytes())
    return Split(starts[:whole], lengths[:whole], bad_head)


def _all_starts(data: Bytes) -> tuple[Integers, int]:
    """Of all whole frames, by their lengths alone, and where the last one ends."""
    parts: list[Integers] = []
    view, place = memoryview(data.data), 0
    short, long = _WALKS
    walk = short
    while True:
        walked, place = _walk(view, place, walk)
        parts.append(np.array(walked, np.int64))
        if len(walked) < walk:
            return np.concatenate(parts), place
        cycle = _cycle(np.diff(parts[-1], append=place))
        walk = long if cycle is None else short
        if cycle is not None:
            parts.append(_repeats(data, place, cycle))
            place += len(parts[-1]) // len(cycle) * int(cycle.sum())


def _walk(data: memoryview, place: int, most: int) -> tuple[list[int], int]:
    starts: list[int] = []
    end = len(data)
    while place + HEAD_BYTES <= end and len(starts) < most:
        after = place + FRAME_BYTES + int(_read_length(data, place)[0])
        if after > end:
            break
        starts.append(place)
        place = after
    return starts, place


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
        asked = min(many, room - found)
        first = place + found * round_bytes
        same = min(
            _agreeing(data, first + int(offset), round_bytes, asked, int(size) - FRAME_BYTES)
            for offset, size in zip(offsets, cycle, strict=True)
        )
        found += same
        if same < asked:
            break
        many = min(8 * many, _MOST_REPEATS)
    rounds = place + round_bytes * np.arange(found, dtype=np.int64)
    return (rounds[:, None] + offsets).ravel()


def _agreeing(data: Bytes, first: int, stride: int, count: int, length: int) -> int:
    """How many of the lengths that stand there, one per stride, are this one before the first that is not."""
    same = np.ndarray(count, "<u8", data, first, (stride,)) == length
    return count if same.all() else int(same.argmin())


def _sound(data: Bytes, starts: Integers, lengths: Integers) -> NDArray[np.bool_]:
    """Which heads hold the checksum of their length."""
    anywhere = np.ndarray(max(0, len(data) - 3), "<u4", data, strides=(1,))
    different, which = _distinct(lengths)
    checksums = crc32c_of_each([int(length).to_bytes(8, "little") for length in different])
    expected = np.array([mask(checksum) for checksum in checksums], np.uint32)
    answer: NDArray[np.bool_] = anywhere[starts + 8] == expected[which]
    return answer


def _is_bad_head(head: bytes) -> bool:
    whole = len(head) == HEAD_BYTES
    return whole and mask(crc32c(head[:8])) != int.from_bytes(head[8:], "little")


def _distinct(lengths: Integers) -> tuple[Integers, Integers]:
    """As np.unique with the inverse, without sorting where all are small."""
    if not len(lengths) or lengths.max() >= 1 << 20:
        different, which = np.unique(lengths, return_inverse=True)
        return different, which
    there = np.bincount(lengths) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[lengths]
