"""A run of W&B that the program has open itself: we add to it, and neither advance nor finish it."""

from __future__ import annotations

from typing import Any

from torch_debugger.integrations.trackers.ending import Ending
from torch_debugger.integrations.trackers.parcels import Parcel
from torch_debugger.integrations.trackers.to_wandb import count_steps, show_ending

_HEADING = "debugger/"  # the program's own keys stay as they are


class OpenWandbReceiver:
    """Nothing is committed, or the program's own count of steps would move: a row of ours goes out with its
    next one. So there is one of ours for each of its own at most, and the fullest is chosen."""

    takes: frozenset[type] = frozenset()

    def __init__(self, run: Any) -> None:
        self._run = run
        self._waits_at: int | None = None  # the program's step that our last row goes out with

    def open(self, name: str) -> None:
        count_steps(self._run, _HEADING)

    def take(self, parcel: Parcel) -> None:
        if parcel.facts:
            told = {f"{_HEADING}{name}": value for name, value in parcel.facts.items()}
            self._run.config.update(told, allow_val_change=True)
        if parcel.points and self._run.step != self._waits_at:
            fullest = max(parcel.points, key=lambda point: (len(point.values), point.step))
            row = {"step": fullest.step, **fullest.values}
            self._run.log({f"{_HEADING}{tag}": value for tag, value in row.items()}, commit=False)
            self._waits_at = self._run.step

    def close(self, ending: Ending) -> None:
        show_ending(self._run, ending, _HEADING, commit=False)

    @property
    def place(self) -> str:
        return f"added to {self._run.name or self._run.id}"
