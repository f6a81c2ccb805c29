"""From what waits to the files: encodes it, appends it, begins the next file when one is full."""

from __future__ import annotations

import io
from collections import Counter

from torch_debugger.records import Notice, Record
from torch_debugger.runlog.encoder import Encoder
from torch_debugger.runlog.logfile import LogFiles, free_bytes, is_deleted, write_all
from torch_debugger.runlog.waiting import PACKED_TOGETHER, Waiting

_RECORDS_AT_ONCE = 1024  # encoded and written together
_POINTS_AT_ONCE = 2_000
# What is left of a disk is the training's, for its checkpoints: this much, or that part of a small one.
_MARGIN_BYTES, _MARGIN_PART = 256_000_000, 50


class Appender:
    """The end of a log. Everything but its making belongs to the writer's thread, the first write too: the
    training does not wait for a disk."""

    def __init__(self, files: LogFiles, encoder: Encoder, purge_step: int | None, rotate_bytes: int) -> None:
        self.left_out: Counter[str] = Counter()  # of the whole run
        self.file: io.FileIO = files.open_first()
        self._head = encoder.start(purge_step)
        self._files = files
        self._encoder = encoder
        self._rotate_bytes = rotate_bytes
        self.written_bytes = 0  # in all files
        self._file_bytes = 0
        self._last_step = 0
        self._disk_is_full = False

    def begin(self) -> None:
        write_all(self.file, self._head)

    def write(self, waiting: Waiting) -> None:
        """All that waits by now; pictures, which take longest, last."""
        self._leave_room_on_the_disk()
        left_out = waiting.take_left_out()
        for _ in range(0, waiting.records, _RECORDS_AT_ONCE):
            self._append_records(waiting.take_records(_RECORDS_AT_ONCE))
        self._tell_gap(left_out)
        self._append_points(waiting)
        for _ in range(waiting.pictures):
            self._append_records(waiting.take_pictures(1))

    def _leave_room_on_the_disk(self) -> None:
        free, total = free_bytes(self.file)
        if free < min(_MARGIN_BYTES, total // _MARGIN_PART) and not self._disk_is_full:
            self._disk_is_full = True
            self._encoder.stop_at_a_full_disk(free)

    def _append_points(self, waiting: Waiting) -> None:
        left = waiting.packs * PACKED_TOGETHER + len(waiting.points)
        while left > 0:
            packed, points = waiting.take_points(_POINTS_AT_ONCE)
            if not packed and not points:
                return  # withdrawn since they were counted
            self._append(packed or self._encoder.encode_points(points))
            left -= len(points) or PACKED_TOGETHER

    def _append_records(self, records: list[Record]) -> None:
        if records:
            self._last_step = getattr(records[-1], "step", self._last_step)
            self._append(self._encoder.encode(records))

    def _tell_gap(self, left_out: Counter[str]) -> None:
        if left_out:
            self.left_out += left_out
            missing = f"The log did not keep up: {in_words(left_out)} are missing here."
            self._append(self._encoder.encode([Notice(missing, self._last_step)]))

    def _append(self, data: bytes) -> None:
        write_all(self.file, data)
        self.written_bytes += len(data)
        self._file_bytes += len(data)
        if self._file_bytes >= self._rotate_bytes:
            self._rotate()

    def _rotate(self) -> None:
        self._file_bytes = 0
        file = self._files.open_next()
        if file is not None:  # else the last file must do
            self.file.close()
            self.file = file
            write_all(file, self._encoder.start())

    def write_last(self) -> None:
        self._append(self._encoder.encode_last())

    def is_deleted(self) -> bool:
        return is_deleted(self.file)

    def close(self) -> None:
        self.file.close()


def in_words(left_out: Counter[str]) -> str:
    """For example: 3 pictures or sounds and 55 records."""
    return " and ".join(f"{count} {kind}" for kind, count in left_out.items())
