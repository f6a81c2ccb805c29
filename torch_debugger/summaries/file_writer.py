"""One folder's log behind a SummaryWriter, with the methods of TensorBoard's own FileWriter."""

from __future__ import annotations

import multiprocessing
import os
import threading
import weakref
from contextlib import suppress
from multiprocessing.util import Finalize
from typing import Any

import numpy as np

from torch_debugger.clocks import time
from torch_debugger.records import ForeignEvent, GraphSummary, Record
from torch_debugger.runlog.opening import open_log
from torch_debugger.saying import say
from torch_debugger.signals import is_the_scripts
from torch_debugger.summaries.forks import begin_anew_after_fork
from torch_debugger.summaries.logs import LateLog, Log, NoLog

_LONGEST_PAUSE_S = 1.0


class FileWriter:
    """Opens its file when it is made, and a new one when it is used after a close or in a forked process.
    Several threads may use it, also while one of them closes it."""

    def __init__(
        self,
        log_dir: Any,
        max_queue: int = 10,
        flush_secs: float | None = 120,
        filename_suffix: str | None = "",
        purge_step: Any = None,
        write_to_disk: bool = True,
    ) -> None:
        self._folder = os.fspath(log_dir) if isinstance(log_dir, os.PathLike) else str(log_dir)
        self._pause_s = _as_pause(flush_secs)
        self._suffix = str(filename_suffix or "")
        self._purge_step = _as_step(purge_step)
        self._on_disk = write_to_disk
        self.log: Log | None = None
        self._opening = threading.RLock()
        self.reopen()
        begin_anew_after_fork(self)

    def begin_anew(self) -> None:
        self.log, self._opening = None, threading.RLock()

    def get_logdir(self) -> str:
        return self._folder

    def reopen(self) -> Log:
        """The log, open; nothing happens where it is."""
        with self._opening:
            if self.log is None:
                self.log = self._opened()
                self._close = weakref.finalize(self, self.log.close)  # also at the end of the program
                if multiprocessing.parent_process() is not None:  # which ends without the handlers of atexit
                    Finalize(None, self._close, exitpriority=0)
            elif self.log.ended:  # not by us, who would have forgotten it, but by the end of the program
                self.log = LateLog(self._opened())
            return self.log

    def add(self, record: Record) -> None:
        while not (self.log or self.reopen()).add(record):
            self.reopen()

    def add_scalar(self, tag: str, value: float, step: int, time: float) -> None:
        while not (self.log or self.reopen()).add_scalar(tag, value, step, time):
            self.reopen()

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
        if (log := self.log) is not None:
            log.flush()

    def end(self) -> None:
        """Takes no more; nobody waits for it before `close`."""
        if (log := self.log) is not None:
            log.end()

    def close(self) -> None:
        with self._opening:
            log, self.log = self.log, None
        if log is not None:
            self._close.detach()
            log.close()

    def _opened(self) -> Log:
        if not self._on_disk:
            return NoLog()
        purge_step, self._purge_step = self._purge_step, None
        try:
            return open_log(
                self._folder, on_fault=say, suffix=self._suffix, flush_s=self._pause_s, purge_step=purge_step
            )
        except Exception as error:  # a folder that is none, a store that does not answer
            if is_the_scripts(error):
                raise
            why = error.__cause__ or error
            say(f"SummaryWriter keeps nothing: a log in {self._folder!r} cannot be written ({why}).")
            return NoLog()


def _as_pause(given: Any) -> float:
    with suppress(TypeError, ValueError):
        return min(_LONGEST_PAUSE_S, max(0.0, float(given)))
    return _LONGEST_PAUSE_S


def _as_step(given: Any) -> int | None:
    """Of whatever a script counts steps with."""
    try:
        return None if given is None else int(np.int64(int(given)))
    except (TypeError, ValueError, OverflowError) as error:
        say(f"SummaryWriter takes back nothing: expected a step as purge_step, got {given!r} ({error}).")
        return None
