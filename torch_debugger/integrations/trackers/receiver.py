"""What each tracker must be able to do: open a run, take parcels, close the run."""

from __future__ import annotations

import importlib
from typing import Protocol

from torch_debugger.integrations.trackers.ending import Ending
from torch_debugger.integrations.trackers.parcels import Parcel
from torch_debugger.integrations.trackers.tracker import Tracker

_RECEIVERS = {"wandb": "WandbReceiver", "mlflow": "MlflowReceiver", "trackio": "TrackioReceiver"}


class Receiver(Protocol):
    """One run of a tracker. Any of these may raise, and take as long as it takes."""

    takes: frozenset[type]  # of what is no number; the rest stays in the log, and that is said

    def open(self, name: str) -> None: ...
    def take(self, parcel: Parcel) -> None: ...
    def close(self, ending: Ending) -> None: ...

    @property
    def place(self) -> str:
        """Where to find the run: an address or a folder, or how to send what is there; once it is open."""
        ...


def make_receiver(tracker: Tracker, directory: str) -> Receiver:
    """`directory` is for files the library keeps beside a run; the library is imported when it is opened."""
    module = importlib.import_module(f"torch_debugger.integrations.trackers.to_{tracker.package}")
    receiver: Receiver = getattr(module, _RECEIVERS[tracker.package])(tracker.chosen_project, directory)
    return receiver
