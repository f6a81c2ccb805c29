"""The log of a process that must not import numpy before its script does.

Importing numpy starts its thread pools, so a script that sets OMP_NUM_THREADS on its first line
would come too late. The few records made before are kept until numpy is there.
"""

from __future__ import annotations

import sys
import threading
from os import getpid
from typing import TYPE_CHECKING

from torch_debugger.errors import DebuggerError
from torch_debugger.records import Record
from torch_debugger.saying import say

if TYPE_CHECKING:
    from torch_debugger.runlog.writer import LogWriter


class LateLog:
    """A sink that opens the log writer when it may."""

    def __init__(self, folder: str, limit_bytes: int, rotate_bytes: int, rank: int | None = None) -> None:
        self._folder = folder
        self._rank = rank  # None: as the environment has it
        self._limit_bytes, self._rotate_bytes = limit_bytes, rotate_bytes
        self._waiting: list[Record] = []
        self._refused = False  # no file could be made: said once, and the script runs without a log
        self._writer: LogWriter | None = None
        self._opening = threading.Lock()
        self._pid = getpid()

    def add(self, record: Record) -> None:
        if self._writer is not None:
            self._writer.add(record)
        elif getpid() == self._pid and not self._refused:
            self._waiting.append(record)
            if "numpy" in sys.modules or "torch" in sys.modules:
                self._open()

    @property
    def cpu_s(self) -> float:
        """What the writer's thread has cost so far."""
        return self._writer.cpu_s if self._writer is not None else 0.0

    def flush(self) -> None:
        self._open()
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        self._open()
        if self._writer is not None:
            self._writer.close()

    def _open(self) -> None:
        with self._opening:
            if self._writer is None and not self._refused:
                self._writer = self._make_writer()
                self._refused = self._writer is None
                self._waiting.clear()

    def _make_writer(self) -> LogWriter | None:
        from torch_debugger.runlog.writer import LogWriter

        try:
            writer = LogWriter(
                self._folder,
                limit_bytes=self._limit_bytes,
                rotate_bytes=self._rotate_bytes,
                on_fault=say,
                rank=self._rank,
            )
        except DebuggerError as error:
            say(str(error))
            return None
        for record in self._waiting:
            writer.add(record)
        return writer
