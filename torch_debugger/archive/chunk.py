"""A stretch of an event file, read: scalars in columns, the rest frame by frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive.checksums import LONGEST
from torch_debugger.archive.curve import Points
from torch_debugger.archive.splitting import HEAD_BYTES, Split, split
from torch_debugger.archive.templates import FEWEST, Piece, Rows, equal_runs, read_rows
from torch_debugger.runlog.crc import crc32c_of_each, mask
from torch_debugger.runlog.frames import FRAME_BYTES

PADDING = 16  # bytes that must stand behind the data, so that every row can be read in whole words
_TAIL_BYTES = 4


class Chunk(NamedTuple):
    columns: list[tuple[str, Points]]
    singles: list[tuple[int, bytes]]  # the place and the payload of each other event, in order
    consumed: int  # bytes of whole, sound frames
    damaged: bool  # what follows them is no frame


def read_chunk(padded: NDArray[np.uint8], first_place: int) -> Chunk:
    """Everything in front of the first unsound frame."""
    frames = split(padded[: len(padded) - PADDING])
    pieces, others = _columns(padded, frames, first_place)
    singles = [_payload(padded, frames, index) for index in others]
    unsound = [piece.points[0].places[~piece.sound] for piece in pieces if not piece.sound.all()]
    bad = min((int(places[0]) for places in unsound), default=None)
    for index, checksum in zip(others, crc32c_of_each(singles), strict=True):
        if _tail(padded, frames, index) != mask(checksum):
            place = first_place + int(frames.starts[index])
            bad = place if bad is None else min(bad, place)
            break
    return _until(bad, first_place, frames, pieces, list(zip(others, singles, strict=True)))


def _until(
    bad: int | None, first_place: int, frames: Split, pieces: list[Piece], singles: list[tuple[int, bytes]]
) -> Chunk:
    end = int(frames.starts[-1] + frames.lengths[-1]) + FRAME_BYTES if len(frames.starts) else 0
    consumed = end if bad is None else bad - first_place
    columns = [(tag, points) for piece in pieces for tag, points in dict(zip(*piece[:2], strict=True)).items()]
    if bad is not None:
        columns = [(tag, points.chosen(points.places < bad)) for tag, points in columns]
    columns = [(tag, points) for tag, points in columns if len(points.places)]
    placed = ((first_place + int(frames.starts[index]), payload) for index, payload in singles)
    kept = [(place, payload) for place, payload in placed if place < first_place + consumed]
    columns.sort(key=lambda column: column[1].places[0])
    return Chunk(columns, kept, consumed, frames.damaged or bad is not None)


def _columns(padded: NDArray[np.uint8], frames: Split, first_place: int) -> tuple[list[Piece], list[int]]:
    pieces: list[Piece] = []
    others: list[NDArray[np.intp]] = []
    for length, which in _by_length(frames.lengths):
        if len(which) < FEWEST or not 0 < length <= LONGEST:
            others.append(which)
            continue
        starts = frames.starts[which]
        rows = Rows(_gather(padded, starts + HEAD_BYTES, length), length, starts + first_place)
        for answer in read_rows(rows):
            if isinstance(answer, Piece):
                pieces.append(answer)
            else:
                others.append(which[answer])
    return pieces, sorted(np.concatenate(others).tolist()) if others else []


def _by_length(lengths: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    keys = np.minimum(lengths, LONGEST + 1).astype(np.uint16)  # numpy sorts these in linear time
    order = np.argsort(keys, kind="stable")
    for group in equal_runs(order, keys[order]):
        if len(group):
            yield int(keys[group[0]]), group


def _gather(padded: NDArray[np.uint8], starts: NDArray[np.int64], length: int) -> NDArray[np.uint8]:
    """Payload and checksum of each, in rows of whole words."""
    width = -(-(length + _TAIL_BYTES) // 8) * 8
    anywhere = np.ndarray(len(padded) - width + 1, f"V{width}", padded, strides=(1,))
    rows: NDArray[np.uint8] = anywhere[starts].view(np.uint8).reshape(len(starts), width)
    return rows


def _payload(padded: NDArray[np.uint8], frames: Split, index: int) -> bytes:
    start = int(frames.starts[index]) + HEAD_BYTES
    return padded[start : start + int(frames.lengths[index])].tobytes()


def _tail(padded: NDArray[np.uint8], frames: Split, index: int) -> int:
    start = int(frames.starts[index] + frames.lengths[index]) + HEAD_BYTES
    return int.from_bytes(padded[start : start + _TAIL_BYTES].tobytes(), "little")
