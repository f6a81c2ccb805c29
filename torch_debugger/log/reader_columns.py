"""One event file and how far it has been read: its scalars as columns, everything else by its place."""

from __future__ import annotations

import io
import os
import stat
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log.curves import NO_POINTS, Points, in_order, join
from torch_debugger.log.decoder_columns import read_chunk
from torch_debugger.log.decoder_values import FOREIGN, SCALARS, Event, EventParser
from torch_debugger.log.tfrecord import FRAME_BYTES, HEAD_BYTES, TAIL_BYTES, frame, read_chunks, read_frames

_CHUNK_BYTES = 1 << 22
_PRINT_BYTES = 64  # compared at both ends of what was read, to see that it is still the same file


class EventItem(NamedTuple):
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
        self.items: list[EventItem] = []
        self.items_of: dict[str, list[EventItem]] = {}  # the same by tag
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
            grown = seen[2] >= self._offset and seen[:2] == self._seen[:2]
            replaced = self._offset > 0 and not (grown and _print(file, self._offset) == self._print)
            if replaced:
                self._start_over()
            before, self._damaged = self._offset, False
            for place, padded, frames in read_chunks(file, before, _CHUNK_BYTES):
                chunk = read_chunk(padded, frames, place)
                for tag, points in chunk.columns:
                    self.columns.add(tag, points)
                for single, payload in chunk.singles:
                    self._take_event(single, payload)
                self._offset += chunk.sound_bytes
                self._damaged = frames.damaged or chunk.sound_bytes < frames.end
                if self._damaged:
                    break
            self._print = _print(file, self._offset)
        self._seen, self._size, self._fault = seen, seen[2], ""
        return replaced or self._offset != before

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
                item = EventItem(place, size_bytes, event.step, event.time, tag, value.kind)
                self.items.append(item)
                self.items_of.setdefault(tag, []).append(item)

    def payloads(self, items: list[EventItem]) -> Iterator[tuple[EventItem, bytes]]:
        """The events of these items, read again; one that is no longer what it was ends it."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                for item in items:
                    framed = _read_at(file, item.place, item.size_bytes + FRAME_BYTES)
                    payload = framed[HEAD_BYTES:-TAIL_BYTES]
                    if framed != frame([payload]):
                        return
                    yield item, payload
        except OSError as error:
            self._fault = f"cannot be read ({error.strerror or error})"

    def all_payloads(self) -> Iterator[tuple[int, bytes]]:
        """Every event up to where the file was read: its place, and its bytes."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                yield from read_frames(file, 0, _CHUNK_BYTES, self._offset)
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
            said.append(f"{self.name} holds {self._foreign} events that are none of TensorBoard's; they were left out.")
        return said


def _read_at(file: io.FileIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size) or b""


def _print(file: io.FileIO, offset: int) -> bytes:
    first = _read_at(file, 0, min(_PRINT_BYTES, offset))
    return first + _read_at(file, max(0, offset - _PRINT_BYTES), min(_PRINT_BYTES, offset))


# The scalars of one event file, by tag; pieces are joined when a tag is asked for.
FIRST_DATE = 1e9  # seconds since the epoch: in 2001, before there was anything to log with


class ValueRange:
    """From the smallest to the largest of what it was shown."""

    def __init__(self) -> None:
        self.first, self.last = np.inf, -np.inf

    def include(self, times: NDArray[np.float64]) -> None:
        if len(times):
            self.first, self.last = min(self.first, float(times.min())), max(self.last, float(times.max()))


class Columns:
    """The furthest step and the times are kept beside: asking for them joins nothing. Beyond some size, what
    comes goes to a file of its own, and is read from there each time it is asked for."""

    MOST_IN_MEMORY = 128_000_000  # bytes, of one event file

    def __init__(self) -> None:
        self._first: dict[str, int] = {}  # the place of each tag's first point
        self._pieces: dict[str, list[Points]] = {}
        self._spilled: dict[str, list[Spilled]] = {}
        self._spill: Spill | None = None
        self._in_memory = 0  # bytes
        self._single: defaultdict[str, list[tuple[int, int, float, float]]] = defaultdict(list)
        self.last_step = 0
        self.dates, self.other_times = ValueRange(), ValueRange()

    @property
    def tags(self) -> list[str]:
        """In the order in which they were first seen."""
        return sorted(self._first, key=self._first.__getitem__)

    def __contains__(self, tag: str) -> bool:
        return tag in self._first

    def add(self, tag: str, points: Points) -> None:
        self._meet(tag, int(points.places[0]))
        self._keep(tag, points)
        self.last_step = max(self.last_step, int(points.steps.max()))
        self._meet_times(points.times)

    def add_single(self, tag: str, place: int, step: int, value: float, time: float) -> None:
        self._meet(tag, place)
        self._single[tag].append((place, step, value, time))
        self.last_step = max(self.last_step, step)
        self._meet_times(np.array([time]))

    def _keep(self, tag: str, points: Points) -> None:
        if self._in_memory < self.MOST_IN_MEMORY:
            self._in_memory += len(points.places) * POINT_BYTES
            self._pieces.setdefault(tag, []).append(points)
        else:
            self._spill = self._spill or Spill()
            self._spilled.setdefault(tag, []).append(self._spill.keep(points))

    def _meet_times(self, times: NDArray[np.float64]) -> None:
        are_dates = times >= FIRST_DATE
        if are_dates.all():
            self.dates.include(times)
        else:
            self.dates.include(times[are_dates])
            self.other_times.include(times[~are_dates])

    def _meet(self, tag: str, place: int) -> None:
        self._first[tag] = min(place, self._first.get(tag, place))

    def points(self, tag: str) -> Points:
        if tag in self._single:
            places, steps, values, times = zip(*self._single.pop(tag), strict=True)
            singles = Points(np.array(places), np.array(steps), np.array(values), np.array(times))
            self._keep(tag, singles)
        pieces = self._pieces.get(tag, [])
        if len(pieces) > 1:
            pieces[:] = [in_order(join(pieces))]
        if self._spill is None or tag not in self._spilled:
            return pieces[0] if pieces else NO_POINTS
        return in_order(join([*pieces, *map(self._spill.read, self._spilled[tag])]))


# Columns that are too large to stay in memory: a log of many gigabytes must not take as many of memory.
POINT_BYTES = 32  # four numbers of eight bytes
_KINDS = (np.int64, np.int64, np.float64, np.float64)  # places, steps, values, times


class Spilled(NamedTuple):
    """Where points stand in the file."""

    offset: int
    points: int


class Spill:
    """A file without a name, which is gone with the process or with whoever holds this."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="torch-debugger-")  # noqa: SIM115 - closed when forgotten
        self._end = 0

    def keep(self, points: Points) -> Spilled:
        kept = Spilled(self._end, len(points.places))
        self._file.seek(self._end)
        for column, kind in zip(points, _KINDS, strict=True):
            self._file.write(np.ascontiguousarray(column, kind).data)
        self._end += kept.points * POINT_BYTES
        return kept

    def read(self, kept: Spilled) -> Points:
        self._file.seek(kept.offset)
        raw = self._file.read(kept.points * POINT_BYTES)
        places, steps = np.frombuffer(raw, np.int64, 2 * kept.points).reshape(2, kept.points)
        values, times = np.frombuffer(raw, np.float64, 2 * kept.points, 16 * kept.points).reshape(2, kept.points)
        return Points(places, steps, values, times)


# Points that a restarted run took back.
#
# A writer that goes on from a checkpoint says so (SessionLog START, `purge_step` of a SummaryWriter): all points of
# that step or later that stand before the mark are void, in this file and in those before it. TensorBoard drops them,
# and so do we. Steps that go back without such a mark are kept.
NEVER = int(np.iinfo(np.int64).max)


def first_void(marks: list[tuple[int, int]]) -> int:
    """The step from which on everything before these marks is void."""
    return min((step for _, step in marks), default=NEVER)


def valid(
    places: NDArray[np.int64], steps: NDArray[np.int64], marks: list[tuple[int, int]], later: int
) -> NDArray[np.bool_]:
    """Which points still hold. `marks` are the (place, step) of their own file, in order; `later` is the
    first void step by the files behind it."""
    limits = np.array([step for _, step in marks] + [later], np.int64)
    # At each mark: the lowest step that it or any later one takes back.
    lowest = np.minimum.accumulate(limits[::-1])[::-1]
    behind = np.searchsorted(np.array([place for place, _ in marks], np.int64), places, side="right")
    limit = lowest[behind]
    answer: NDArray[np.bool_] = (steps < limit) | (limit == NEVER)
    return answer
