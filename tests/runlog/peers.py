"""Event files as TensorBoard's own code reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader


def tensorboard_events(path: Path) -> list[Any]:
    return list(EventFileLoader(str(path)).Load())


def tensorboard_run(folder: Path) -> Any:
    """All that TensorBoard finds in a folder; 0 asks it not to drop points."""
    everything = {"scalars": 0, "tensors": 0}
    return EventAccumulator(str(folder), size_guidance=everything).Reload()
