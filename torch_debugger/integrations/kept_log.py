"""The log that a `Debugger` keeps in a folder: the records, the surroundings, and at the end the report."""

from __future__ import annotations

import sys

from torch_debugger.cli.ending import write_reports
from torch_debugger.integrations.program import say
from torch_debugger.records import Record
from torch_debugger.report.result import RunResult
from torch_debugger.runlog.writer import LogWriter
from torch_debugger.surroundings.background import Gathering
from torch_debugger.surroundings.gathering import typed_command


class KeptLog:
    """A sink; the folder is left as `torch-debugger run` leaves it."""

    def __init__(self, folder: str, limit_bytes: int) -> None:
        self._folder = folder
        self._writer = LogWriter(folder, limit_bytes=limit_bytes, on_fault=say)
        script = getattr(sys.modules.get("__main__"), "__file__", None)
        self._gathering = Gathering(typed_command(), str(script or ""), self._writer.add, say)

    def add(self, record: Record) -> None:
        self._writer.add(record)

    @property
    def cpu_s(self) -> float:
        return self._writer.cpu_s

    def close(self) -> None:
        self._gathering.wait()
        self._writer.close()

    def leave_report(self, result: RunResult) -> None:
        try:
            write_reports(result, json_file=None, log_dir=self._folder)
        except Exception as error:  # the program goes on, whatever becomes of its report
            say(f"the report could not be written ({type(error).__name__}: {error}).")
