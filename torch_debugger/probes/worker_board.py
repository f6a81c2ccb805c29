"""What each worker of a loader says of itself, in memory that it shares with the training.

Made before the workers are forked. Nobody waits for anybody: a worker writes over what it wrote before, and
what is read in the middle of that is not believed. What a worker said last is still there when it was killed.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from json import dumps, loads
from typing import Any

_HEAD = struct.Struct("<II")  # length and checksum of the text


class WorkerBoard:
    SLOT_BYTES = 8192
    MOST_WORKERS = 64

    def __init__(self, workers: int) -> None:
        self.workers = min(workers, self.MOST_WORKERS)
        self._memory = mmap.mmap(-1, self.workers * self.SLOT_BYTES)

    def write(self, worker: int, told: dict[str, Any]) -> None:
        text = dumps(told).encode()
        if worker < self.workers and len(text) <= self.SLOT_BYTES - _HEAD.size:
            start = worker * self.SLOT_BYTES
            body = start + _HEAD.size
            self._memory[body : body + len(text)] = text
            self._memory[start:body] = _HEAD.pack(len(text), zlib.crc32(text))

    def read(self, worker: int) -> dict[str, Any] | None:
        """None where nothing is written yet, or just now."""
        if worker >= self.workers:
            return None
        start = worker * self.SLOT_BYTES
        body = start + _HEAD.size
        length, checksum = _HEAD.unpack(self._memory[start:body])
        if not 0 < length <= self.SLOT_BYTES - _HEAD.size:
            return None
        text = self._memory[body : body + length]
        if zlib.crc32(text) != checksum:
            return None
        told: dict[str, Any] = loads(text)
        return told
