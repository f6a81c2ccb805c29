"""A tracker as a sink, for programs that watch themselves: by name, or the run they have open already."""

from __future__ import annotations

import shutil
import sys
import tempfile
from typing import Any

from torch_debugger.integrations.trackers.shipping import Carrier, CarrierThread, CourierProcess, Tell
from torch_debugger.integrations.trackers.to_open_wandb import OpenWandbReceiver
from torch_debugger.integrations.trackers.tracker import TITLES, Tracker, is_wandb_run
from torch_debugger.records import Record
from torch_debugger.runlog.writer import LogWriter


class TrackerSink:
    """Writes a log that nobody keeps, and has it carried to a tracker."""

    def __init__(self, chosen: Any, name: str, directory: str, tell: Tell) -> None:
        self._folder = tempfile.mkdtemp(prefix="torch-debugger-")
        self._writer = LogWriter(self._folder, on_fault=tell)
        self.carrier = self._carrier(chosen, name, directory, tell)

    def _carrier(self, chosen: Any, name: str, directory: str, tell: Tell) -> Carrier:
        open_run = chosen if is_wandb_run(chosen) else _open_run(chosen)
        if open_run is None:
            return CourierProcess(chosen, self._folder, directory, name, tell)
        return CarrierThread(TITLES["wandb"], OpenWandbReceiver(open_run), self._folder, name, tell)

    def add(self, record: Record) -> None:
        self._writer.add(record)

    @property
    def cpu_s(self) -> float:
        """What the writer's thread has cost so far."""
        return self._writer.cpu_s

    def close(self) -> None:
        """No record comes any more: the log can be carried to its end."""
        self._writer.close()

    def remove(self) -> None:
        self.carrier.abandon()
        shutil.rmtree(self._folder, ignore_errors=True)


def _open_run(tracker: Tracker) -> Any:
    """The run that this program has open already, where it has one and no other project was asked for."""
    module = sys.modules.get("wandb") if tracker.package == "wandb" else None
    return getattr(module, "run", None) if not tracker.project else None
