"""The log that a `Debugger` keeps in a folder: the records, and at the end the report."""

from __future__ import annotations

from typing import Any

from torch_debugger.cli.ending import write_reports
from torch_debugger.integrations.program import say
from torch_debugger.records import Record
from torch_debugger.report.result import RunResult
from torch_debugger.runlog.spool import STORE_ROTATE_BYTES, Spool
from torch_debugger.runlog.stores import is_url
from torch_debugger.runlog.writer import LogWriter


class KeptLog:
    """A sink; the folder, or the object store, is left as `torch-debugger run` leaves it."""

    def __init__(self, place: str, limit_bytes: int) -> None:
        self._spool = Spool(place, say) if is_url(place) else None
        self.folder = self._spool.folder if self._spool is not None else place
        rotation: dict[str, Any] = {"rotate_bytes": STORE_ROTATE_BYTES} if self._spool else {}
        self._writer = LogWriter(self.folder, limit_bytes=limit_bytes, on_fault=say, **rotation)

    def add(self, record: Record) -> None:
        self._writer.add(record)

    @property
    def cpu_s(self) -> float:
        return self._writer.cpu_s

    def close(self) -> None:
        self._writer.close()

    def leave_report(self, result: RunResult) -> None:
        """The last thing that is done, after close."""
        try:
            write_reports(result, json_file=None, log_dir=self.folder)
        except Exception as error:  # the program goes on, whatever becomes of its report
            say(f"the report could not be written ({type(error).__name__}: {error}).")
        if self._spool is not None:
            self._spool.close()
