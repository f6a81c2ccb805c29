"""Keeps the run log from a thread of its own, so that the training never waits for a disk."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from torch_debugger.errors import DebuggerError
from torch_debugger.records import Notice, Record, TensorRows
from torch_debugger.runlog.encoder import Encoder
from torch_debugger.runlog.logfile import create_log_file, is_deleted, write_all

_PAUSE_S = 1.0  # between two writes, unless someone asks or much is waiting
_MUCH = 4096  # records waiting that end the pause early
_AT_ONCE = 1024  # records encoded and written together
_MOST_WAITING = 100_000  # records; beyond this the disk does not keep up and records are left out
_MOST_ROW_BYTES = 64_000_000  # the same for the values of tensor rows
_FLUSH_WAIT_S = 2.0
_CLOSE_WAIT_S = 10.0
_GAP = "The disk was too slow for the log: {} records are missing here."

_Receipt = queue.SimpleQueue[None]  # an item of the queue that says: everything before me is written


class LogWriter:
    """A sink that appends to one new event file in `folder`.

    `add` costs about a microsecond. Records, and the arrays of TensorRows, must not be changed after it.
    A process forked from the one that made the writer can call everything and nothing happens.
    `on_fault` is given each sentence once, from the writer's thread.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        limit_bytes: int = 200_000_000,
        on_fault: Callable[[str], None],
    ) -> None:
        self.cpu_s = 0.0  # spent by the writer's thread so far
        self._on_fault = on_fault
        self._said: set[str] = set()
        self._encoder = Encoder(limit_bytes, self._say)
        self._folder = os.fspath(folder)
        self._file = create_log_file(folder, self._encoder.start())
        self._pid = os.getpid()
        self._queue: deque[Record | _Receipt] = deque()
        self._row_bytes = 0  # waiting in the queue
        self._left_out = 0
        self._last_step = 0
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()  # unlike an Event safe in signal handlers
        self._asleep = True
        self._failed = self._closing = False
        self._thread = threading.Thread(target=self._run, name="torch_debugger log", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            self._file.close()
            raise DebuggerError(f"The run log needs a thread and the system gives none: {error}.") from error

    def add(self, record: Record) -> None:
        if self._closing or self._failed or os.getpid() != self._pid:
            return
        waiting = len(self._queue)
        if waiting >= _MOST_WAITING or (type(record) is TensorRows and not self._has_room(record)):
            self._left_out += 1
            return
        self._queue.append(record)
        if self._asleep or waiting == _MUCH:
            self._asleep = False
            self._bell.put(None)

    def flush(self) -> None:
        """Everything added so far is in the file when this returns, unless the disk hangs."""
        if self._closing or self._failed or not self._may_wait():
            return
        receipt: _Receipt = queue.SimpleQueue()
        self._queue.append(receipt)
        self._bell.put(None)
        with suppress(queue.Empty):
            receipt.get(timeout=_FLUSH_WAIT_S)

    def close(self) -> None:
        if os.getpid() != self._pid:
            return
        self._closing = True
        self._bell.put(None)
        if self._may_wait():
            self._thread.join(_CLOSE_WAIT_S)
            if self._thread.is_alive():
                self._say(f"The run log in {self._folder} is incomplete: the disk did not answer at the end.")

    def _may_wait(self) -> bool:
        return os.getpid() == self._pid and threading.current_thread() is not self._thread

    def _has_room(self, rows: TensorRows) -> bool:
        self._row_bytes += rows.values.nbytes
        return self._row_bytes <= _MOST_ROW_BYTES

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self._on_fault(sentence)

    # From here on: the writer's thread.

    def _run(self) -> None:
        try:
            while not self._closing:
                self._bell.get()
                self._write_while_records_come()
                self._asleep = True
                if self._queue:  # added just before we said that we sleep
                    self._bell.put(None)
            self._write_waiting()
        except OSError as error:
            self._give_up(f"{error.strerror or error}. The training goes on without it.")
        except Exception as error:  # our traceback in the user's terminal would be worse than a short log
            self._give_up(f"a fault of torch-debugger, {error!r}. The training goes on without it.")
        finally:
            self._file.close()

    def _give_up(self, why: str) -> None:
        self._failed = True
        self._say(f"The run log in {self._folder} ends early: {why}")
        for item in self._take(len(self._queue)):
            _acknowledge(item)

    def _write_while_records_come(self) -> None:
        while self._queue and not self._closing:
            self._write_waiting()
            if len(self._queue) < _MUCH:
                with suppress(queue.Empty):
                    self._bell.get(timeout=_PAUSE_S)

    def _write_waiting(self) -> None:
        left_out, waiting = self._left_out, len(self._queue)
        self._row_bytes = 0
        for start in range(0, waiting, _AT_ONCE):
            self._write(self._take(min(_AT_ONCE, waiting - start)))
        if left_out:
            self._left_out -= left_out
            self._write([Notice(_GAP.format(left_out), self._last_step)])
        if is_deleted(self._file):
            # We write on all the same: whoever has the file open still reads it to its end.
            self._say(f"The run log in {self._folder} was deleted during the run; none of it will be left.")
        self.cpu_s = time.thread_time()

    def _take(self, count: int) -> list[Record | _Receipt]:
        return [self._queue.popleft() for _ in range(count)]

    def _write(self, items: list[Record | _Receipt]) -> None:
        records = [item for item in items if not isinstance(item, queue.SimpleQueue)]
        self._last_step = getattr(records[-1], "step", self._last_step) if records else self._last_step
        try:
            write_all(self._file, self._encoder.encode(records))
        finally:
            for item in items:
                _acknowledge(item)


def _acknowledge(item: Record | _Receipt) -> None:
    if isinstance(item, queue.SimpleQueue):
        item.put(None)
