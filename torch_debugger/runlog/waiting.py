"""What waits to be written, and what gives way when the disk does not keep up."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from operator import itemgetter
from typing import Generic, TypeVar

from torch_debugger.records import Record, TensorRows
from torch_debugger.runlog.points import Point

_MOST_RECORDS = 100_000
_MOST_BYTES = 128_000_000  # of rows, pictures and other summaries
_MOST_POINTS = 20_000  # as objects, some 160 bytes each; beyond this the oldest are packed
PACKED_TOGETHER = 2_000
_TAG_CHARACTERS = 4_000_000  # of points that are encoded together
_MOST_PACKED_BYTES = 512_000_000  # ten to twenty million numbers

PICTURES, RECORDS, POINTS = "pictures or sounds", "records", "scalars"  # as the sentence about a gap has them

_Item = TypeVar("_Item")


class Lane(Generic[_Item]):
    """A queue that knows how many bytes wait in it."""

    def __init__(self) -> None:
        self.items: deque[_Item] = deque()
        self.bytes = 0

    def add(self, item: _Item, size: int) -> None:
        self.items.append(item)
        self.bytes += size

    def take(self, most: int, size: Callable[[_Item], int]) -> list[_Item]:
        taken = [self.items.popleft() for _ in range(min(most, len(self.items)))]
        self.bytes -= sum(map(size, taken))
        return taken


class Waiting:
    """Three lanes, each in order. Pictures and sounds (`droppable`) give way first, the oldest before the
    newest; then rows and other records are not taken any more. Single numbers are packed as they will
    stand in the file, and are left out only when half a gigabyte of them waits. What was sealed takes no
    more: whoever adds is told.
    """

    def __init__(self, pack: Callable[[list[Point]], bytes]) -> None:
        self.points: deque[Point] = deque()
        self._pack = pack
        self._packed: Lane[bytes] = Lane()
        self._packing = threading.Lock()
        self._changing = threading.RLock()  # of records and pictures; a signal handler may come back to it
        self._sealed = False
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

    def seal(self) -> None:
        with self._changing:
            self._sealed = True

    def add(self, record: Record) -> int | None:
        """How many records wait now; None where this one cannot, because of a seal."""
        droppable, size = getattr(record, "droppable", False), _size(record)
        with self._changing:
            if self._sealed:
                return None
            if self.records >= _MOST_RECORDS or (size and not self._make_room(size)):
                self._left_out[PICTURES if droppable else RECORDS] += 1
            else:
                (self._pictures if droppable else self._records).add(record, size)
            return self.records

    def withdraw(self, point: Point) -> bool:
        """Whether it was still waiting. Without the lock, which a signal handler might wait for for ever."""
        while True:
            try:
                self.points.remove(point)
            except ValueError:
                return False
            except IndexError:  # others were taken while it was searched
                continue
            return True

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
            points = self._next_points(PACKED_TOGETHER)
            if self._packed.bytes < _MOST_PACKED_BYTES:
                self._pack_together(points)
            else:
                self._left_out[POINTS] += len(points)
        finally:
            self._packing.release()

    def _pack_together(self, points: list[Point]) -> None:
        try:
            packed = self._pack(points)
        except BaseException:  # also what a signal handler raises
            self.points.extendleft(reversed(points))
            raise
        self._packed.add(packed, len(packed))

    def _next_points(self, most: int) -> list[Point]:
        """Fewer where their tags are so long that their events would fill the memory."""
        points: list[Point] = []
        with suppress(IndexError):  # the last of them may be withdrawn meanwhile
            for _ in range(min(most, len(self.points))):
                points.append(self.points.popleft())
        with suppress(TypeError):  # a tag of a wrong kind; the encoder tells
            while len(points) > 1 and sum(map(len, map(itemgetter(0), points))) > _TAG_CHARACTERS:
                half = len(points) // 2
                self.points.extendleft(reversed(points[half:]))
                del points[half:]
        return points

    def take_points(self, most: int) -> tuple[bytes, list[Point]]:
        """The oldest: some that are packed or, where none are, up to `most` others."""
        with self._packing:
            packed = b"".join(self._packed.take(1, len))
            return packed, [] if packed else self._next_points(most)

    def take_records(self, most: int) -> list[Record]:
        with self._changing:
            return self._records.take(most, _size)

    def take_pictures(self, most: int) -> list[Record]:
        with self._changing:
            return self._pictures.take(most, _size)

    def take_left_out(self) -> Counter[str]:
        with self._changing, self._packing:
            left_out, self._left_out = self._left_out, Counter()
        return left_out

    def clear(self) -> None:
        with self._changing:
            for lane in (self.points, self._packed.items, self._records.items, self._pictures.items):
                lane.clear()


def _size(record: Record) -> int:
    if type(record) is TensorRows:
        return record.values.nbytes
    return getattr(record, "nbytes", 0)
