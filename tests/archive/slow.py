"""The slow, obvious way to read an event file: frame by frame, field by field."""

from __future__ import annotations

import itertools
import struct
from pathlib import Path

from torch_debugger.log.decoder_values import FOREIGN, SCALARS, EventParser
from torch_debugger.log.reader_columns import EventFile
from torch_debugger.log.tfrecord import FRAME_BYTES, HEAD_BYTES, frame

Point = tuple[int, bytes, bytes]  # step, value and time, these as bits: NaN is NaN


def slow_scalars(data: bytes, frames: int | None = None) -> dict[str, list[Point]]:
    """Of the whole file or of its first frames."""
    parser, found = EventParser(), dict[str, list[Point]]()
    for payload in slow_payloads(data)[:frames]:
        try:
            event = parser.parse(payload)
        except FOREIGN:
            continue
        for tag, value in {value.tag: value for value in event.values}.items():
            if value.kind == SCALARS:
                found.setdefault(tag, []).append((event.step, _bits(value.number), _bits(event.time)))
    return found


def slow_payloads(data: bytes) -> list[bytes]:
    """Of the sound frames at the start, one after the other."""
    payloads: list[bytes] = []
    while len(data) >= FRAME_BYTES:
        length = int.from_bytes(data[:8], "little")
        payload = data[HEAD_BYTES : HEAD_BYTES + length]
        if data[: length + FRAME_BYTES] != frame([payload]):
            break
        payloads.append(payload)
        data = data[length + FRAME_BYTES :]
    return payloads


def frame_ends(data: bytes) -> list[int]:
    lengths = [len(payload) + FRAME_BYTES for payload in slow_payloads(data)]
    return list(itertools.accumulate(lengths))


def fast_scalars(path: Path) -> dict[str, list[Point]]:
    file = EventFile(str(path))
    file.poll()
    return columns_of(file)


def columns_of(file: EventFile) -> dict[str, list[Point]]:
    return {tag: _points(file, tag) for tag in file.columns.tags}


def _points(file: EventFile, tag: str) -> list[Point]:
    points = file.columns.points(tag)
    columns = points.steps.tolist(), map(_bits, points.values.tolist()), map(_bits, points.times.tolist())
    return list(zip(*columns, strict=True))


def _bits(number: float) -> bytes:
    return struct.pack("<d", number) if number == number else b"nan"


def read_bytes(folder: Path, data: bytes) -> dict[str, list[Point]]:
    return columns_of(read_file(folder, data))


def read_file(folder: Path, data: bytes) -> EventFile:
    folder.mkdir(exist_ok=True)
    path = folder / "events.out.tfevents.1"
    path.write_bytes(data)
    file = EventFile(str(path))
    file.poll()
    return file
