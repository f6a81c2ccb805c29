"""What waits to be written, and what gives way when the disk does not keep up."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import Generic, TypeVar

from torch_debugger.records import Record, TensorRows
from torch_debugger.runlog.points import Point

_MOST_RECORDS = 100_000
_MOST_BYTES = 128_000_000  # of rows, pictures and other summaries
_MOST_POINTS = 20_000  # as objects, some 160 bytes each; beyond this the oldest are packed
_PACKED_TOGETHER = 2_000
_MOST_PACKED_BYTES = 512_000_000  # ten to twenty million numbers

PICTURES, RECORDS, POINTS = "pictures or sounds", "records", "scalars"  # as the sentence about a gap has them

_Item = TypeVar("_Item")


class Lane(Generic[_Item]):
    """A queue that knows how many bytes wait in it. One thread takes; several may add."""

    def __init__(self) -> None:
        self.items: deque[_Item] = deque()
        self.bytes = 0

    def add(self, item: _Item, size: int) -> None:
        self.items.append(item)
        self.bytes += size

    def take(self, most: int, size: Callable[[_Item], int]) -> list[_Item]:
        taken = [self.items.popleft() for _ in range(min(most, len(self.items)))]
        self.bytes -= sum(map(size, taken))
        if not self.items:
            self.bytes = 0  # two threads that count at once can lose a number
        return taken


class Waiting:
    """Three lanes, each in order. Pictures and sounds (`droppable`) give way first, the oldest before the
    newest; then rows and other records are not taken any more. Single numbers are packed as they will
    stand in the file, and are left out only when half a gigabyte of them waits.
    """

    def __init__(self, pack: Callable[[list[Point]], bytes]) -> None:
        self.points: deque[Point] = deque()
        self._pack = pack
        self._packed: Lane[bytes] = Lane()
        self._packing = threading.Lock()
        self._records: Lane[Record] = Lane()
        self._pictures: Lane[Record] = Lane()
        self._left_out: Counter[str] = Counter()

    @property
    def records(self) -> int:
        return len(self._records.items)

    @property
    def record_bytes(self) -> int:
        return self._records.bytes

    @property
    def pictures(self) -> int:
        return len(self._pictures.items)

    @property
    def packs(self) -> int:
        return len(self._packed.items)

    def __len__(self) -> int:
        return len(self.points) + self.packs + self.records + self.pictures

    def add(self, record: Record) -> int:
        """How many records wait now."""
        droppable, size = getattr(record, "droppable", False), _size(record)
        if self.records >= _MOST_RECORDS or (size and not self._make_room(size)):
            self._left_out[PICTURES if droppable else RECORDS] += 1
        else:
            (self._pictures if droppable else self._records).add(record, size)
        return self.records

    def _make_room(self, size: int) -> bool:
        while self._full(size) and self._pictures.items:
            self._left_out[PICTURES] += len(self._pictures.take(1, _size))
        return not self._full(size)

    def _full(self, size: int) -> bool:
        waiting = self._records.bytes + self._pictures.bytes
        return waiting > 0 and waiting + size > _MOST_BYTES

    def pack_points(self) -> None:
        """Done by whoever adds, for the thread that would do it hangs in a write. Never waits: where
        packing is under way, or a signal handler of that very thread asks, it is left to the next one."""
        if len(self.points) < _MOST_POINTS or not self._packing.acquire(blocking=False):
            return
        try:
            points = [self.points.popleft() for _ in range(_PACKED_TOGETHER)]
            if self._packed.bytes < _MOST_PACKED_BYTES:
                packed = self._pack(points)
                self._packed.add(packed, len(packed))
            else:
                self._left_out[POINTS] += len(points)
        finally:
            self._packing.release()

    def take_points(self, most: int) -> tuple[bytes, list[Point]]:
        """The oldest: some that are packed or, where none are, up to `most` others."""
        with self._packing:
            packed = b"".join(self._packed.take(1, len))
            count = 0 if packed else min(most, len(self.points))
            return packed, [self.points.popleft() for _ in range(count)]

    def take_records(self, most: int) -> list[Record]:
        return self._records.take(most, _size)

    def take_pictures(self, most: int) -> list[Record]:
        return self._pictures.take(most, _size)

    def take_left_out(self) -> Counter[str]:
        left_out = self._left_out.copy()
        self._left_out.subtract(left_out)
        return +left_out

    def clear(self) -> None:
        for lane in (self.points, self._packed.items, self._records.items, self._pictures.items):
            lane.clear()


def _size(record: Record) -> int:
    if type(record) is TensorRows:
        return record.values.nbytes
    return getattr(record, "nbytes", 0)
