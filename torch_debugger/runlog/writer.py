"""Keeps the run log from a thread of its own, so that the training never waits for a disk."""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from os import getpid

from torch_debugger.clocks import time
from torch_debugger.errors import DebuggerError
from torch_debugger.records import Record
from torch_debugger.runlog.appending import Appender, in_words
from torch_debugger.runlog.encoder import Encoder
from torch_debugger.runlog.logfile import LogFiles, rank_of_process
from torch_debugger.runlog.points import Point
from torch_debugger.runlog.thinning import NO_LIMIT
from torch_debugger.runlog.waiting import Waiting
from torch_debugger.signals import OwnThread

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
                self._write_while_records_come()
                self._asleep = True
                if self._waiting or self._receipts:  # added just before we said that we sleep
                    self._bell.put(None)
            self._write_the_rest()
            self._tell_what_is_missing()
        except OSError as error:
            self._give_up(f"{error.strerror or error}. The training goes on without it.")
        except Exception as error:  # our traceback in the user's terminal would be worse than a short log
            self._give_up(f"a fault of torch-debugger, {error!r}. The training goes on without it.")
        finally:
            self._asleep = True  # so that add_scalar looks up
            self._appender.close()

    def _write_the_rest(self) -> None:
        """Whoever adds sees the end first, so what comes behind the last look is not lost."""
        self.ended = self._asleep = True
        self._waiting.seal()
        self._write_waiting()
        self._appender.write_last()

    def _give_up(self, why: str) -> None:
        self._failed = True
        self._say(f"The run log in {self.folder} ends early: {why}")
        self._waiting.clear()
        self._acknowledge(len(self._receipts))

    def _tell_what_is_missing(self) -> None:
        if self._appender.left_out:
            missing = in_words(self._appender.left_out)
            self._say(
                f"The run log in {self.folder} lacks {missing}: they came faster than they could be written."
            )

    def _write_while_records_come(self) -> None:
        while (self._waiting or self._receipts) and not self._closing:
            self._write_waiting()
            if len(self._waiting) < _MUCH:
                with suppress(queue.Empty):
                    self._bell.get(timeout=self._pause_s)

    def _write_waiting(self) -> None:
        receipts = len(self._receipts)  # counted first: what they stand for was added before them
        self._appender.write(self._waiting)
        if self._appender.is_deleted():
            # We write on all the same: whoever has the file open still reads it to its end.
            self._say(f"The run log in {self.folder} was deleted during the run; none of it will be left.")
        self.cpu_s = time.thread_time()
        self._acknowledge(receipts)

    def _acknowledge(self, count: int) -> None:
        for _ in range(count):
            self._receipts.popleft().put(None)
