"""The runs that are open, each with a lock of its own: one that takes long to read does not stop the others."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from torch_debugger.archive.run import Run
from torch_debugger.runlog.stores import is_url

# What is read of a log takes up to about as much memory as the log takes on disk.
_MOST_OPEN = 64
_MOST_BYTES = 1_000_000_000
_PATIENCE_S = 0.3  # for findings that nobody has written down; the page asks again
_STORE_EVERY_S = 10.0  # an object store is asked over the network


class OpenRun:
    def __init__(self, folder: str, name: str) -> None:
        self.run = Run(folder, name)
        self.judged = self.run.judge_aside(_PATIENCE_S)
        self.is_reading = False
        self.lock = threading.Lock()
        self.size_bytes = 0  # of its log
        self._read_again_s = 0.0

    def read_on(self) -> None:
        """Up to now. A folder is read on each time: a page that was told of news must find them."""
        now = time.monotonic()
        if now >= self._read_again_s:
            self.is_reading = True
            self.run.poll()
            self.is_reading = False
            self._read_again_s = now + _STORE_EVERY_S if is_url(self.run.folder) else 0.0


class OpenRuns:
    """The ones that were used last; a run that is closed is read again when it is asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[str, OpenRun] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def take(self, name: str, folder: str, size_bytes: int) -> OpenRun:
        with self._lock:
            one = self._open.pop(name, None)
            if one is None or one.run.folder != folder:
                one = OpenRun(folder, name)
            one.size_bytes = size_bytes
            self._open[name] = one
            self._close_oldest()
            return one

    def known(self, name: str) -> OpenRun | None:
        return self._open.get(name)

    def close(self, name: str) -> None:
        with self._lock:
            self._open.pop(name, None)

    def _close_oldest(self) -> None:
        """The one that is asked for stays open, however large it is."""
        total = sum(each.size_bytes for each in self._open.values())
        while len(self._open) > 1 and (len(self._open) > _MOST_OPEN or total > _MOST_BYTES):
            _, closed = self._open.popitem(last=False)
            total -= closed.size_bytes
