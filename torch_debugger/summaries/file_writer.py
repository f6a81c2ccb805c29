"""One folder's log behind a SummaryWriter, with the methods of TensorBoard's own FileWriter."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import socket
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from multiprocessing.util import Finalize
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from torch_debugger.log.histogram_buckets import default_edges
from torch_debugger.log.scalar_events import GivenTime
from torch_debugger.log.writer import open_log
from torch_debugger.records import Chart, ForeignEvent, GraphSummary, Record
from torch_debugger.source.frames import user_frame
from torch_debugger.system.clocks import time
from torch_debugger.system.errors import DebuggerError
from torch_debugger.system.program import say
from torch_debugger.system.signals import is_the_scripts

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
        self._pause_s = _LONGEST_PAUSE_S
        with suppress(TypeError, ValueError):
            self._pause_s = min(_LONGEST_PAUSE_S, max(0.0, float(flush_secs)))  # type: ignore[arg-type]
        self._suffix = str(filename_suffix or "")
        self._purge_step: int | None = None
        try:  # of whatever a script counts steps with
            self._purge_step = None if purge_step is None else int(np.int64(int(purge_step)))
        except (TypeError, ValueError, OverflowError) as error:
            say(f"SummaryWriter takes back nothing: expected a step as purge_step, got {purge_step!r} ({error}).")
        self._on_disk = write_to_disk
        self.log: SummaryLog | None = None
        self._opening = threading.RLock()
        self.reopen()
        begin_anew_after_fork(self)

    def begin_anew(self) -> None:
        self.log, self._opening = None, threading.RLock()

    def get_logdir(self) -> str:
        return self._folder

    def reopen(self) -> SummaryLog:
        """The log, open; nothing happens where it is."""
        with self._opening:
            if self.log is None:
                self.log = self._opened()
                self._close = weakref.finalize(self, self.log.close)  # also at the end of the program
                if multiprocessing.parent_process() is not None:  # which ends without the handlers of atexit
                    Finalize(None, self._close, exitpriority=0)
            elif self.log.ended:  # not by us, who would have forgotten it, but by the end of the program
                self.log = ClosingLog(self._opened())
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
        from torch_debugger.log.protobuf import event_around

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

    def _opened(self) -> SummaryLog:
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


# Methods of a writer that never raise into the training: what goes wrong in them is said instead.
Method = TypeVar("Method", bound=Callable[..., None])


def sparing(method: Method) -> Method:
    """The writer needs `complaints`. The signature stays the method's own."""

    @functools.wraps(method)
    def spared(writer: Any, *arguments: Any, **keywords: Any) -> None:
        try:
            method(writer, *arguments, **keywords)
        except Exception as error:  # a log is not worth a training
            tag = keywords.get("tag", keywords.get("main_tag", arguments[0] if arguments else ""))
            tell_instead(writer, method.__name__, tag, error)

    return cast(Method, spared)


def tell_instead(writer: Any, call: str, tag: object, error: Exception) -> None:
    if is_the_scripts(error):
        raise error
    writer.complaints.tell(call, tag if isinstance(tag, str) else "", error)


# The files of a SummaryWriter: its own, and those of the runs inside it that compare curves.
class Files:
    """Opens on creation; flush, close, and use after a close as with the writers this stands in for."""

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
        write_to_disk: bool = True,
        logdir: Any = None,
        comet_config: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Without `log_dir` the folder is runs/DATE_HOST followed by `comment`. With `purge_step` readers
        forget what earlier files of the folder hold from that step on. The log is written at least once a
        second, whatever `max_queue` and `flush_secs` say."""
        now = datetime.now().strftime("%b%d_%H-%M-%S")
        folder = log_dir or logdir or os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = self.logdir = os.fspath(folder) if isinstance(folder, os.PathLike) else folder
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.complaints = Complaints()
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._on_disk = write_to_disk
        self._ending: list[FileWriter] = []  # their last bytes are being written
        self._changing = threading.RLock()
        begin_anew_after_fork(self)
        self._step: int = 0
        self._time: float | None = None
        self._charts: dict[tuple[str, str], Chart] = {}  # of custom scalars
        self._get_file_writer()
        if comet_config and not comet_config.get("disabled"):
            say("SummaryWriter writes TensorBoard files; comet_config is not used.")

    @property
    def default_bins(self) -> list[float]:
        bins: list[float] = default_edges().tolist()
        return bins

    def get_logdir(self) -> str:
        return self.log_dir

    @contextlib.contextmanager
    def use_metadata(self, *, global_step: int | None = None, walltime: float | None = None) -> Iterator[Any]:
        """Inside, calls that give no step or time have these."""
        before = self._step, self._time
        self._step, self._time = int(global_step or 0), walltime
        try:
            yield self
        finally:
            self._step, self._time = before

    @sparing
    def flush(self) -> None:
        for writer in list((self.all_writers or {}).values()):
            writer.flush()

    @sparing
    def close(self) -> None:
        with self._changing:
            writers = [*(self.all_writers or {}).values(), *self._ending]
            self.file_writer, self.all_writers, self._ending = None, None, []
        for writer in writers:
            writer.close()
        self.complaints.sum_up()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def begin_anew(self) -> None:
        self._changing = threading.RLock()

    def __deepcopy__(self, memory: dict[int, Any]) -> Any:
        return self  # a model that is copied with its writer still has one log

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process it opens a file of its own in the same folder."""
        options = (self.max_queue, self.flush_secs, self.filename_suffix, self._on_disk)
        return type(self), (self.log_dir, "", None, *options)

    def _get_file_writer(self) -> FileWriter:
        with self._changing:
            if self.file_writer is None or self.all_writers is None:
                self.file_writer = self._new_file_writer(self.log_dir, self.purge_step)
                self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
                self.purge_step = None
            return self.file_writer

    def _file_writer_of(self, folder: str) -> FileWriter:
        with self._changing:
            self._get_file_writer()
            assert self.all_writers is not None
            if folder not in self.all_writers:
                self.all_writers[folder] = self._new_file_writer(folder, None)
            return self.all_writers[folder]

    def _end(self, writer: FileWriter) -> None:
        """Its file is whole soon; nobody waits for that before `close`."""
        writer.end()
        with self._changing:
            self._ending.append(writer)

    def _new_file_writer(self, folder: str, purge_step: int | None) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix, purge_step, self._on_disk)

    def _add(self, record: Record) -> None:
        self._get_file_writer().add(record)

    def _moment(self, global_step: Any, walltime: Any) -> tuple[int, float]:
        step = self._step if global_step is None else int(global_step)
        if walltime is None:
            return step, time.time() if self._time is None else GivenTime(self._time)
        return step, GivenTime(walltime)


# What a FileWriter writes to: a log, none, or one that nobody will close any more.
class SummaryLog(Protocol):
    ended: bool  # what is added is refused: it belongs into another log

    def add(self, record: Record) -> bool: ...
    def add_scalar(self, tag: str, value: float, step: int, time: float) -> bool: ...
    def has_room(self, size_bytes: int) -> bool: ...
    def flush(self) -> None: ...
    def end(self) -> None: ...
    def close(self) -> None: ...


class NoLog:
    """Takes everything and keeps nothing."""

    ended = False

    def add(self, record: Record) -> bool:
        return True

    def add_scalar(self, tag: str, value: float, step: int, time: float) -> bool:
        return True

    def has_room(self, size_bytes: int) -> bool:
        return True

    def flush(self) -> None: ...
    def end(self) -> None: ...
    def close(self) -> None: ...


class ClosingLog:
    """The log of a program that is ending. Nobody will close it, so every call waits until it is written."""

    ended = False

    def __init__(self, log: SummaryLog) -> None:
        self._log = log
        self.flush, self.end, self.close = log.flush, log.end, log.close

    def add(self, record: Record) -> bool:
        taken = self._log.add(record)
        self.flush()
        return taken

    def add_scalar(self, tag: str, value: float, step: int, time: float) -> bool:
        taken = self._log.add_scalar(tag, value, step, time)
        self.flush()
        return taken

    def has_room(self, size_bytes: int) -> bool:
        return self._log.has_room(size_bytes)


# What could not be written is said once for each place in the script, and counted.
class Complaints:
    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._remarks: set[str] = set()

    def remark(self, call: str, sentence: str) -> None:
        """Something was written, but not as it was given; said for the first call of its kind."""
        if call not in self._remarks:
            self._remarks.add(call)
            say(f"{call}: {sentence}")

    def tell(self, call: str, tag: str, error: Exception) -> None:
        frame, place = user_frame(), "an unknown line"
        if frame is not None:
            place = f"{_shown(frame.f_code.co_filename)}:{frame.f_lineno}"
        self._counts[call, place] += 1
        if self._counts[call, place] == 1:
            what = f"{call}({tag!r})" if tag else f"{call}()"
            say(f"{what} at {place} wrote nothing: {_why(error)} The training goes on.")

    def sum_up(self) -> None:
        """At the end: how often it was, where it was more than once."""
        for (call, place), count in self._counts.items():
            if count > 1:
                say(f"{call}() at {place} wrote nothing {count} times in all.")
        self._counts.clear()


def _why(error: Exception) -> str:
    try:
        words = str(error)
    except Exception:  # the user's own __str__ may raise
        return f"{type(error).__name__}."
    sentence = words if isinstance(error, DebuggerError) else f"{type(error).__name__}: {words}"
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."


def _shown(path: str) -> str:
    try:
        return os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path
    except OSError:  # the working folder is gone
        return path


# A forked process has none of its parent's threads: what needs them, or their locks, begins anew there.
class Beginner(Protocol):
    def begin_anew(self) -> None: ...


def begin_anew_after_fork(beginner: Beginner) -> None:
    _living().add(beginner)


@functools.cache
def _living() -> weakref.WeakSet[Beginner]:
    living: weakref.WeakSet[Beginner] = weakref.WeakSet()

    def begin_all_anew() -> None:
        for beginner in list(living):
            beginner.begin_anew()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=begin_all_anew)
    return living
