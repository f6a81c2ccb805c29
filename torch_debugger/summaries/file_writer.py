"""One folder's log behind a SummaryWriter, with the methods of TensorBoard's own FileWriter."""

from __future__ import annotations

import functools
import multiprocessing
import os
import time
import weakref
from collections.abc import Iterable
from multiprocessing.util import Finalize
from typing import Any, Protocol

from torch_debugger.errors import DebuggerError
from torch_debugger.records import ForeignEvent, GraphSummary, Record
from torch_debugger.runlog.opening import open_log
from torch_debugger.saying import say

_LONGEST_PAUSE_S = 1.0


class Log(Protocol):
    def add(self, record: Record) -> None: ...
    def add_scalar(self, tag: str, value: float, step: int, time: float) -> None: ...
    def has_room(self, size_bytes: int) -> bool: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


class NoLog:
    """Takes everything and keeps nothing."""

    def add(self, record: Record) -> None: ...
    def add_scalar(self, tag: str, value: float, step: int, time: float) -> None: ...

    def has_room(self, size_bytes: int) -> bool:
        return True

    def flush(self) -> None: ...
    def close(self) -> None: ...


class FileWriter:
    """Opens its file when it is made, and a new one when it is used after a close or in a forked process."""

    def __init__(
        self,
        log_dir: Any,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
        purge_step: int | None = None,
        write_to_disk: bool = True,
    ) -> None:
        self._folder = os.fspath(log_dir) if isinstance(log_dir, os.PathLike) else str(log_dir)
        self._pause_s = min(_LONGEST_PAUSE_S, max(0.0, float(flush_secs)))
        self._suffix = filename_suffix
        self._purge_step = purge_step
        self._on_disk = write_to_disk
        self.log: Log | None = None
        self.reopen()
        _living().add(self)

    def get_logdir(self) -> str:
        return self._folder

    def reopen(self) -> Log:
        """The log, open; nothing happens where it is."""
        if self.log is None:
            self.log = self._opened()
            self._close = weakref.finalize(self, self.log.close)  # also at the end of the program
            if multiprocessing.parent_process() is not None:  # which ends without the handlers of atexit
                Finalize(None, self._close, exitpriority=0)
        return self.log

    def add(self, record: Record) -> None:
        (self.log or self.reopen()).add(record)

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """A protobuf Event that the script made itself."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.add(ForeignEvent(event.step, event.wall_time, "", event.SerializeToString()))

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """A protobuf Summary, or its bytes."""
        from torch_debugger.runlog.summaries.ready_made import event_around

        body = summary if isinstance(summary, bytes) else summary.SerializeToString()
        step, when = int(global_step or 0), time.time() if walltime is None else walltime
        self.add(ForeignEvent(step, when, "", event_around(body, step, when)))

    def add_graph(self, graph_profile: Any, walltime: float | None = None) -> None:
        """A protobuf GraphDef, alone or with the run's statistics, which are not kept."""
        graph = graph_profile[0] if isinstance(graph_profile, tuple) else graph_profile
        body = graph if isinstance(graph, bytes) else graph.SerializeToString()
        self.add(GraphSummary(0, time.time() if walltime is None else walltime, "", body))

    add_onnx_graph = add_openvino_graph = add_graph

    def flush(self) -> None:
        if self.log is not None:
            self.log.flush()

    def close(self) -> None:
        if self.log is not None:
            self._close()
            self.log = None

    def _opened(self) -> Log:
        if not self._on_disk:
            return NoLog()
        purge_step, self._purge_step = self._purge_step, None
        try:
            return open_log(
                self._folder, on_fault=say, suffix=self._suffix, flush_s=self._pause_s, purge_step=purge_step
            )
        except DebuggerError as error:
            why = error.__cause__ or error
            say(f"SummaryWriter keeps nothing: a log in {self._folder!r} cannot be written ({why}).")
            return NoLog()


@functools.cache
def _living() -> weakref.WeakSet[FileWriter]:
    """All that are open. A forked process has none of their threads: it opens files of its own."""
    living: weakref.WeakSet[FileWriter] = weakref.WeakSet()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: _forget(living))
    return living


def _forget(writers: Iterable[FileWriter]) -> None:
    for writer in list(writers):
        writer.log = None
