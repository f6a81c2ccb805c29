"""Where a run lies: a folder on this machine, or an object store with a copy of it here."""

from __future__ import annotations

import os
import tempfile

from torch_debugger.archive.event_names import MARK
from torch_debugger.archive.folders import Found
from torch_debugger.errors import DebuggerError
from torch_debugger.runlog.stores import fetch_new, is_url, list_files


class Folder:
    """A folder as it is."""

    is_copy = False  # then the times of its files are those of the copying

    def __init__(self, path: str) -> None:
        self.path = path
        self.fault = ""

    def refresh(self) -> None:
        """Brings `path` up to date; what went wrong is in `fault`."""


class StoredFolder(Folder):
    """What a reader needs from an object store, copied: it grows with the original and ends with this."""

    is_copy = True

    def __init__(self, url: str) -> None:
        self._copy = tempfile.TemporaryDirectory(prefix="torch-debugger-", ignore_cleanup_errors=True)
        self._url = url
        super().__init__(self._copy.name)

    def refresh(self) -> None:
        self.fault = ""
        try:
            fetch_new(self._url, self.path, _is_read)
        except DebuggerError as error:
            self.fault = str(error)


def place_of(folder: str) -> Folder:
    return StoredFolder(folder) if is_url(folder) else Folder(folder)


def find_stored_runs(url: str) -> list[Found]:
    """As `folders.find_runs`, below a URL. Stores disagree on a time of change; names tell when a run began."""
    runs: dict[str, list[tuple[str, int]]] = {}
    for file in list_files(url):
        folder, _, name = file.name.rpartition("/")
        if MARK in name:
            runs.setdefault(folder, []).append((name, file.size))
    root = url.rstrip("/")
    return [
        Found(
            folder or ".",
            f"{root}/{folder}" if folder else root,
            _started(files),
            sum(size for _, size in files),
        )
        for folder, files in sorted(runs.items())
    ]


def _is_read(name: str) -> bool:
    return os.path.basename(name) == name and (MARK in name or name == "result.json")


def _started(files: list[tuple[str, int]]) -> float:
    seconds = (part for name, _ in files for part in name.split(".") if part.isdecimal() and len(part) == 10)
    return max(map(float, seconds), default=0.0)
