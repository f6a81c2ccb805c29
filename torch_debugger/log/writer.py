"""Keeps the run log from a thread of its own, so that the training never waits for a disk."""

from __future__ import annotations

import io
import os
import queue
import threading
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from operator import itemgetter
from os import getpid
from typing import Any, Generic, TypeVar

from torch_debugger.log.encoder import NO_LIMIT, Encoder
from torch_debugger.log.event_files import LogFiles, free_bytes, is_deleted, rank_of_process, write_all
from torch_debugger.log.object_stores import is_url
from torch_debugger.log.scalar_events import Point
from torch_debugger.log.upload import STORE_ROTATE_BYTES, Spool
from torch_debugger.records import Notice, Record, TensorRows
from torch_debugger.system.clocks import time
from torch_debugger.system.errors import DebuggerError
from torch_debugger.system.signals import OwnThread

_MUCH = 4096  # records waiting that end the pause between two writes early
_MANY_POINTS = 4_000  # the same for single numbers
_MUCH_BYTES = 32_000_000  # of records that wait for work that their maker could do
_FLUSH_WAIT_S = 2.0
_CLOSE_WAIT_S = 10.0

_Receipt = queue.SimpleQueue[None]  # says: everything that was added before me is written


class LogWriter:
    """A sink that appends to new event files in `folder`: one, and the next when it has `rotate_bytes`.

    `add` costs about a microsecond, `add_scalar` a fifth of that. Records, and the arrays of TensorRows, must
    not be changed after it. A process forked from the one that made the writer can call everything and
    nothing happens. `on_fault` is given each sentence once, mostly from the writer's thread.

    As a log nears `limit_bytes` it keeps fewer and fewer of its curves, statistics and pictures, and says so.
    `flush_s` is the longest pause between two writes. With `purge_step`, readers leave out what earlier
    files of the folder hold from that step on: a run that crashed later and begins there again.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        limit_bytes: int = NO_LIMIT,
        on_fault: Callable[[str], None],
        suffix: str = "",
        flush_s: float = 1.0,
        purge_step: int | None = None,
        rank: int | None = None,
        rotate_bytes: int = 256_000_000,
    ) -> None:
        self.cpu_s = 0.0  # spent by the writer's thread so far
        self.folder = os.fspath(folder)
        self._on_fault = on_fault
        self._said: set[str] = set()
        encoder = Encoder(limit_bytes, self._say)
        files = LogFiles(folder, rank_of_process() if rank is None else rank, suffix)
        self._appender = Appender(files, encoder, purge_step, rotate_bytes)
        self._pid = getpid()
        self._waiting = Waiting(encoder.encode_points)
        self._points = self._waiting.points
        self._append_point = self._points.append  # looked up once: this is what add_scalar costs
        self._receipts: deque[_Receipt] = deque()
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()  # unlike an Event safe in signal handlers
        self._pause_s = flush_s
        self._asleep = True
        self._failed = self._closing = False
        self.ended = False  # the thread has its last look at what waits
        self._thread = OwnThread(self._run, "torch_debugger log")
        try:
            self._thread.start()
        except RuntimeError as error:
            self._appender.close()
            raise DebuggerError(f"The run log needs a thread and the system gives none: {error}.") from error

    def add(self, record: Record) -> bool:
        """False where the log has ended: it belongs into another one."""
        if self._failed or getpid() != self._pid:
            return True
        waiting = self._waiting.add(record)
        if waiting is not None and (self._asleep or waiting == _MUCH):
            self._wake()
        return waiting is not None

    def add_scalar(self, tag: str, value: float, step: int, time: float) -> bool:
        """As with `add`. Numbers of one step that come within a tenth of a second are written with the same
        time; one that is a GivenTime is kept."""
        self._append_point(point := (tag, value, step, time))
        if self._asleep or len(self._points) >= _MANY_POINTS:
            return self._attend_to_points(point)
        return True

    def has_room(self, size_bytes: int) -> bool:
        """Whether a record of that size may as well wait for the writer's thread; where not, its maker does
        the work, and nothing is left out."""
        waiting = self._waiting.record_bytes
        if waiting > _MUCH_BYTES // 4 and self._bell.empty():
            self._wake()
        return waiting + size_bytes <= _MUCH_BYTES

    def _attend_to_points(self, newest: Point) -> bool:
        if self._failed or getpid() != self._pid:
            self._points.clear()
            return True
        if self.ended:  # what the thread's last look did not find is still there
            return not self._waiting.withdraw(newest)
        if self._asleep or self._bell.empty():
            self._wake()
        self._waiting.pack_points()
        return True

    def _wake(self) -> None:
        self._asleep = False
        if self.ended:  # meanwhile, and add_scalar has to see it
            self._asleep = True
        self._bell.put(None)

    def flush(self) -> None:
        """Everything added so far is in the file when this returns, unless the disk hangs."""
        if self._closing or self._failed or not self._may_wait():
            return
        receipt: _Receipt = queue.SimpleQueue()
        self._receipts.append(receipt)
        self._bell.put(None)
        with suppress(queue.Empty):
            receipt.get(timeout=_FLUSH_WAIT_S)

    def end(self) -> None:
        """Closes, and nobody waits for it."""
        if getpid() == self._pid:
            self._closing = True
            self._bell.put(None)

    def close(self) -> None:
        """Waits for the rest as long as some of it gets written."""
        self.end()
        if not self._may_wait():
            return
        written = -1
        while self._thread.is_alive() and written != self._appender.written_bytes:
            written = self._appender.written_bytes
            self._thread.join(_CLOSE_WAIT_S)
        if self._thread.is_alive():
            self._say(f"The run log in {self.folder} is incomplete: the disk did not answer at the end.")

    def _may_wait(self) -> bool:
        return getpid() == self._pid and threading.current_thread() is not self._thread

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self._on_fault(sentence)

    # From here on: the writer's thread.

    def _run(self) -> None:
        try:
            self._appender.begin()
            while not self._closing:
                self._bell.get()
                while (self._waiting or self._receipts) and not self._closing:
                    self._write_waiting()
                    if len(self._waiting) < _MUCH:
                        with suppress(queue.Empty):
                            self._bell.get(timeout=self._pause_s)
                self._asleep = True
                if self._waiting or self._receipts:  # added just before we said that we sleep
                    self._bell.put(None)
            # Whoever adds sees the end first, so what comes behind the last look is not lost.
            self.ended = self._asleep = True
            self._waiting.seal()
            self._write_waiting()
            self._appender.write_last()
            if self._appender.left_out:
                missing = in_words(self._appender.left_out)
                late = f"lacks {missing}: they came faster than they could be written."
                self._say(f"The run log in {self.folder} {late}")
        except OSError as error:
            self._give_up(f"{error.strerror or error}. The training goes on without it.")
        except Exception as error:  # our traceback in the user's terminal would be worse than a short log
            self._give_up(f"a fault of torch-debugger, {error!r}. The training goes on without it.")
        finally:
            self._asleep = True  # so that add_scalar looks up
            self._appender.close()

    def _give_up(self, why: str) -> None:
        self._failed = True
        self._say(f"The run log in {self.folder} ends early: {why}")
        self._waiting.clear()
        self._acknowledge(len(self._receipts))

    def _write_waiting(self) -> None:
        receipts = len(self._receipts)  # counted first: what they stand for was added before them
        self._appender.write(self._waiting)
        if is_deleted(self._appender.file):
            # We write on all the same: whoever has the file open still reads it to its end.
            self._say(f"The run log in {self.folder} was deleted during the run; none of it will be left.")
        self.cpu_s = time.thread_time()
        self._acknowledge(receipts)

    def _acknowledge(self, count: int) -> None:
        for _ in range(count):
            self._receipts.popleft().put(None)


# A log in a folder, or in an object store.
def open_log(place: str | os.PathLike[str], *, on_fault: Callable[[str], None], **options: Any) -> LogWriter:
    """`place` is a folder or a URL such as s3://bucket/runs/one; the options are LogWriter's."""
    if not is_url(place):
        return LogWriter(place, on_fault=on_fault, **options)

    return StoredLogWriter(os.fspath(place), on_fault=on_fault, **options)


# A log writer whose files go to an object store.
class StoredLogWriter(LogWriter):
    """Writes into a spool on this machine; `folder` is that one, and whatever else is put there goes along."""

    def __init__(self, url: str, *, on_fault: Callable[[str], None], **options: Any) -> None:
        self._spool = Spool(url, on_fault)
        super().__init__(self._spool.folder, on_fault=on_fault, **{"rotate_bytes": STORE_ROTATE_BYTES, **options})

    def flush(self) -> None:
        super().flush()
        self._spool.mirror.hurry()

    def close(self) -> None:
        super().close()
        self._spool.close()


# From what waits to the files: encodes it, appends it, begins the next file when one is full.
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
        free, total = free_bytes(self.file)
        if free < min(_MARGIN_BYTES, total // _MARGIN_PART) and not self._disk_is_full:
            self._disk_is_full = True
            self._encoder.stop_at_a_full_disk(free)
        left_out = waiting.take_left_out()
        for _ in range(0, waiting.records, _RECORDS_AT_ONCE):
            self._append_records(waiting.take_records(_RECORDS_AT_ONCE))
        if left_out:
            self.left_out += left_out
            missing = f"The log did not keep up: {in_words(left_out)} are missing here."
            self._append(self._encoder.encode([Notice(missing, self._last_step)]))
        self._append_points(waiting)
        for _ in range(waiting.pictures):
            self._append_records(waiting.take_pictures(1))

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

    def _append(self, data: bytes) -> None:
        write_all(self.file, data)
        self.written_bytes += len(data)
        self._file_bytes += len(data)
        if self._file_bytes < self._rotate_bytes:
            return
        self._file_bytes = 0
        file = self._files.open_next()
        if file is not None:  # else the last file must do
            self.file.close()
            self.file = file
            write_all(file, self._encoder.start())

    def write_last(self) -> None:
        self._append(self._encoder.encode_last())

    def close(self) -> None:
        self.file.close()


def in_words(left_out: Counter[str]) -> str:
    """For example: 3 pictures or sounds and 55 records."""
    return " and ".join(f"{count} {kind}" for kind, count in left_out.items())


# What waits to be written, and what gives way when the disk does not keep up.
_MOST_RECORDS = 100_000
_MOST_BYTES = 128_000_000  # of rows, pictures and other summaries
_MOST_POINTS = 20_000  # as objects, some 160 bytes each; beyond this the oldest are packed
PACKED_TOGETHER = 2_000
_TAG_CHARACTERS = 4_000_000  # of points that are encoded together
_MOST_PACKED_BYTES = 512_000_000  # ten to twenty million numbers

PICTURES, RECORDS, POINTS = "pictures or sounds", "records", "scalars"  # as the sentence about a gap has them

_Item = TypeVar("_Item")


class ByteQueue(Generic[_Item]):
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
        self._packed: ByteQueue[bytes] = ByteQueue()
        self._packing = threading.Lock()
        self._changing = threading.RLock()  # of records and pictures; a signal handler may come back to it
        self._sealed = False
        self._records: ByteQueue[Record] = ByteQueue()
        self._pictures: ByteQueue[Record] = ByteQueue()
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
            while size and self.records < _MOST_RECORDS and self._full(size) and self._pictures.items:
                self._left_out[PICTURES] += len(self._pictures.take(1, _size))
            if self.records >= _MOST_RECORDS or (size and self._full(size)):
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
            if self._packed.bytes >= _MOST_PACKED_BYTES:
                self._left_out[POINTS] += len(points)
                return
            try:
                packed = self._pack(points)
            except BaseException:  # also what a signal handler raises
                self.points.extendleft(reversed(points))
                raise
            self._packed.add(packed, len(packed))
        finally:
            self._packing.release()

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
