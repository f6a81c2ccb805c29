"""Where a debugger's records go beside the debugger itself: its log, trackers, sinks of the user's."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from torch_debugger.errors import DebuggerError, UsageError
from torch_debugger.integrations.kept_log import KeptLog
from torch_debugger.integrations.program import script_name
from torch_debugger.integrations.trackers.delivery import run_name
from torch_debugger.integrations.trackers.ending import ending_of
from torch_debugger.integrations.trackers.shipping import conclude
from torch_debugger.integrations.trackers.tracker import TITLES, Tracker, is_wandb_run, read_tracker
from torch_debugger.integrations.trackers.tracker_sink import TrackerSink
from torch_debugger.records import Record
from torch_debugger.records.sink import Sink
from torch_debugger.report.result import RunResult
from torch_debugger.runlog.stores import is_url
from torch_debugger.settings import Settings
from torch_debugger.surroundings.background import Gathering
from torch_debugger.surroundings.gathering import typed_command


def read_sink(given: Any) -> Any:
    """A Tracker, an open run of W&B, or a sink; a word is read as `--to` reads it."""
    if isinstance(given, str):
        return read_tracker(given)
    if _is_tracker(given) or callable(getattr(given, "add", None)):
        return given
    raise UsageError(
        f"A sink is {', '.join(map(repr, TITLES))}, a Tracker, a wandb run or an object with add(record), "
        f"not {given!r}."
    )


class Outlets:
    """Opened together when a watch begins. A tracker that cannot be had is told of and left out."""

    def __init__(self, settings: Settings, given: Sequence[Any], tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._log = KeptLog(settings.log_dir, settings.log_limit_bytes) if settings.log_dir else None
        place = settings.log_dir  # also of the files that a tracker keeps, where it is a folder
        self._directory = place if place is not None and not is_url(place) else os.getcwd()
        self._trackers: list[TrackerSink] = []
        self.sinks: list[Sink] = [self._log] if self._log is not None else []
        for one in given:
            if _is_tracker(one):
                self._open(one)
            else:
                self.sinks.append(one)
        self._gathering = self._gather() if self._ours() else None

    def _ours(self) -> list[KeptLog | TrackerSink]:
        return [*([self._log] if self._log is not None else []), *self._trackers]

    def _gather(self) -> Gathering:
        script = getattr(sys.modules.get("__main__"), "__file__", None)
        return Gathering(typed_command(), str(script or ""), self._keep, self._tell)

    def _keep(self, record: Record) -> None:
        for sink in self._ours():
            sink.add(record)

    def _open(self, chosen: Any) -> None:
        try:
            sink = TrackerSink(chosen, run_name(script_name()), self._directory, self._tell)
        except (OSError, RuntimeError, DebuggerError) as error:  # no disk, process or thread to be had
            self._tell(f"the run goes to no tracker: {error}.")
            return
        self._trackers.append(sink)
        self.sinks.append(sink)

    def close(self) -> None:
        """No record comes any more."""
        if self._gathering is not None:
            self._gathering.wait()
        for sink in self._ours():
            sink.close()

    def conclude(self, result: RunResult) -> None:
        """The report is written, and trackers get it with the rest, within a limited time."""
        if self._log is not None:
            self._log.leave_report(result)
        if self._trackers:
            conclude([sink.carrier for sink in self._trackers], ending_of(result), self._tell)
        for sink in self._trackers:
            sink.remove()


def _is_tracker(given: Any) -> bool:
    return isinstance(given, Tracker) or is_wandb_run(given)
