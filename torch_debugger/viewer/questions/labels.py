"""The names, tags and notes that were given to runs on the page."""

from __future__ import annotations

from typing import Any

from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.labels import entry_of, read_labels, whole


def answer(asked: Asked) -> dict[str, Any]:
    """{"runs": {NAME: {"name", "tags", "note"}}}, of those that have any."""
    shown = asked.shelf.all_shown()
    entries = {name: entry_of(each) for name, each in shown.items()}
    kept = {folder: read_labels(folder) for folder in {entry.folder for entry in entries.values()}}
    labelled = {name: label for name, entry in entries.items() if (label := kept[entry.folder].get(entry.key))}
    return {"runs": {name: whole(label) for name, label in labelled.items()}}
