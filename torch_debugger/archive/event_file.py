"""One event file and how far it has been read: its scalars as columns, everything else by its place."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive.chunk import PADDING, read_chunk
from torch_debugger.archive.columns import Columns
from torch_debugger.archive.parsing import FOREIGN, SCALARS, Event, EventParser
from torch_debugger.runlog.frames import FRAME_BYTES, unframe

_CHUNK_BYTES = 1 << 22
_PRINT_BYTES = 64  # compared at both ends of what was read, to see that it is still the same file


class Item(NamedTuple):
    """A value that is no scalar, by the place of its event in the file."""

    place: int
    size_bytes: int
    step: int
    time: float
    tag: str
    kind: str


class EventFile:
    """Asked to `poll`, it reads on from where it stopped; a file that was replaced is read from its start."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = os.path.basename(path)
        self._start_over()

    def _start_over(self) -> None:
        self.columns = Columns()
        self.items: list[Item] = []
        self.items_of: dict[str, list[Item]] = {}  # the same by tag
        self.restarts: list[tuple[int, int]] = []  # place and step: see `archive.restarts`
        self._parser = EventParser()
        self._offset = 0
        self._size = self._foreign = 0
        self._damaged = False
        self._fault = ""
        self._print = b""
        self._seen: tuple[int, ...] = ()

    @property
    def read_bytes(self) -> int:
        return self._offset

    def poll(self) -> bool:
        """Reads what came since; True if anything did. No fault of a file ever raises."""
        try:
            state = os.stat(self.path)
            if not stat.S_ISREG(state.st_mode):
                self._fault = "is no plain file and was not opened"
                return False
            seen = state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns
            return seen != self._seen and self._read_on(seen)
        except OSError as error:
            self._fault = f"cannot be read ({error.strerror or error})"
            return False

    def _read_on(self, seen: tuple[int, ...]) -> bool:
        with open(self.path, "rb", buffering=0) as file:
            replaced = self._offset > 0 and not self._is_same(file, seen)
            if replaced:
                self._start_over()
            before = self._offset
            self._read_chunks(file)
            self._print = _print(file, self._offset)
        self._seen, self._size, self._fault = seen, seen[2], ""
        return replaced or self._offset != before

    def _is_same(self, file: io.FileIO, seen: tuple[int, ...]) -> bool:
        grown = seen[2] >= self._offset and seen[:2] == self._seen[:2]
        return grown and _print(file, self._offset) == self._print

    def _read_chunks(self, file: io.FileIO) -> None:
        size = _CHUNK_BYTES
        while True:
            before = self._offset
            padded = _read_padded(file, before, size)
            self._take(padded)
            got = len(padded) - PADDING
            if self._damaged or got < size:
                return
            size = _CHUNK_BYTES if self._offset > before else 2 * size  # a frame larger than what was read

    def _take(self, data: NDArray[np.uint8]) -> None:
        chunk = read_chunk(data, self._offset)
        for tag, points in chunk.columns:
            self.columns.add(tag, points)
        for place, payload in chunk.singles:
            self._take_event(place, payload)
        self._offset += chunk.consumed
        self._damaged = chunk.damaged

    def _take_event(self, place: int, payload: bytes) -> None:
        try:
            event = self._parser.parse(payload)
        except FOREIGN:
            self._foreign += 1
            return
        if event.starts_session:
            self.restarts.append((place, event.step))
        self._keep(place, len(payload), event)

    def _keep(self, place: int, size_bytes: int, event: Event) -> None:
        """A tag that stands twice in an event is one point with the last value, as for all other readers."""
        for tag, value in {value.tag: value for value in event.values}.items():
            if value.kind == SCALARS:
                self.columns.add_single(tag, place, event.step, value.number, event.time)
            else:
                item = Item(place, size_bytes, event.step, event.time, tag, value.kind)
                self.items.append(item)
                self.items_of.setdefault(tag, []).append(item)

    def payloads(self, items: list[Item]) -> Iterator[tuple[Item, bytes]]:
        """The events of these items, read again; one that is no longer what it was ends it."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                for item in items:
                    frames = unframe(_read_at(file, item.place, item.size_bytes + FRAME_BYTES))
                    if not frames.payloads:
                        return
                    yield item, frames.payloads[0]
        except OSError as error:
            self._fault = f"cannot be read ({error.strerror or error})"

    def all_payloads(self) -> Iterator[tuple[int, bytes]]:
        """Every event up to where the file was read: its place, and its bytes."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                place, size = 0, _CHUNK_BYTES
                while place < self._offset:
                    frames = unframe(_read_at(file, place, min(self._offset - place, size)))
                    if frames.damaged or (not frames.consumed and place + size >= self._offset):
                        return
                    size = _CHUNK_BYTES if frames.consumed else 2 * size  # a frame larger than what was read
                    for payload in frames.payloads:
                        yield place, payload
                        place += len(payload) + FRAME_BYTES
        except OSError as error:
            self._fault = f"cannot be read ({error.strerror or error})"

    @property
    def changed(self) -> float:
        """When it was last written, in seconds since the epoch."""
        return self._seen[3] / 1e9 if self._seen else 0.0

    @property
    def damage(self) -> list[str]:
        """Sentences about what could not be read."""
        said = [f"{self.name} {self._fault}."] if self._fault else []
        left = self._size - self._offset
        if self._damaged and not self._offset:
            said.append(f"{self.name} is no event file in spite of its name; nothing was read from it.")
        elif self._damaged:
            said.append(
                f"{self.name} is damaged at byte {self._offset} of {self._size}: a checksum does not fit. What "
                "stands before it was read, nothing behind it."
            )
        elif left > 0:  # it may have grown while it was read
            said.append(f"{self.name} ends in the middle of an event: its last {left} bytes wait for the rest.")
        if self._foreign:
            said.append(
                f"{self.name} holds {self._foreign} events that are none of TensorBoard's; they were left out."
            )
        return said


def _read_padded(file: io.FileIO, offset: int, size: int) -> NDArray[np.uint8]:
    size = min(size, max(0, os.fstat(file.fileno()).st_size - offset))
    padded = np.zeros(size + PADDING, np.uint8)
    file.seek(offset)
    got = 0
    while got < size and (count := file.readinto(padded[got:size].data)):
        got += count
    return padded[: got + PADDING]


def _read_at(file: io.FileIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size) or b""


def _print(file: io.FileIO, offset: int) -> bytes:
    first = _read_at(file, 0, min(_PRINT_BYTES, offset))
    return first + _read_at(file, max(0, offset - _PRINT_BYTES), min(_PRINT_BYTES, offset))
