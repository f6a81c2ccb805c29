"""The files of a SummaryWriter: its own, and those of the runs inside it that compare curves."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from torch_debugger.clocks import time
from torch_debugger.records import Record
from torch_debugger.runlog.points import GivenTime
from torch_debugger.runlog.summaries.cells import default_edges
from torch_debugger.saying import say
from torch_debugger.summaries.complaints import Complaints
from torch_debugger.summaries.file_writer import FileWriter
from torch_debugger.summaries.forks import begin_anew_after_fork
from torch_debugger.summaries.sparing import sparing


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
        folder = log_dir or logdir or _default_folder(comment)
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
        return FileWriter(
            folder, self.max_queue, self.flush_secs, self.filename_suffix, purge_step, self._on_disk
        )

    def _add(self, record: Record) -> None:
        self._get_file_writer().add(record)

    def _moment(self, global_step: Any, walltime: Any) -> tuple[int, float]:
        step = self._step if global_step is None else int(global_step)
        if walltime is None:
            return step, time.time() if self._time is None else GivenTime(self._time)
        return step, GivenTime(walltime)


def _default_folder(comment: str) -> str:
    now = datetime.now().strftime("%b%d_%H-%M-%S")
    return os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
