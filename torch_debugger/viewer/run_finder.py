"""Which runs there are below the folders that are shown.

Ten thousand folders are walked in the background: only the very first answer waits for that.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from torch_debugger.archive.folders import Found, event_files, find_runs
from torch_debugger.archive.places import find_stored_runs
from torch_debugger.errors import DebuggerError
from torch_debugger.runlog.stores import is_url

OURS = ".torch_debugger"  # in the name of every event file that we write
_LOOK_EVERY_S = 1.0
_SHARE = 10  # of the time at most one in this many goes into looking
_QUICK_S = 0.05  # a look that nobody minds waiting for


@dataclass(frozen=True, slots=True)
class Shown:
    """A run that was found, and the folder below which it was."""

    found: Found
    root: str


class RunFinder:
    def __init__(self, folders: Mapping[str, str], *, of_others: bool) -> None:
        self.folders = dict(folders)
        self.of_others = of_others
        self._ours: set[str] = set()  # folders
        self._known: dict[str, Shown] = {}
        self._looked_s, self._took_s = -float("inf"), 0.0
        self._look_lock = threading.Lock()

    def all(self) -> dict[str, Shown]:
        """By name."""
        if self._is_due():
            if self._took_s > _QUICK_S:
                threading.Thread(target=self._look, daemon=True).start()
            else:
                self._look()
        return self._known

    def find(self, name: str) -> Shown | None:
        """One that is not known may have begun a moment ago: it is looked for again, but not all the time."""
        known = self.all().get(name)
        if known is None and self._is_due():
            self._look()
            known = self._known.get(name)
        return known

    def look_again(self) -> None:
        """After something was taken away."""
        self._looked_s = -float("inf")
        self._look()

    def _is_due(self) -> bool:
        return time.monotonic() - self._looked_s > max(_LOOK_EVERY_S, _SHARE * self._took_s)

    def _look(self) -> None:
        with self._look_lock:
            if not self._is_due():  # somebody else has looked while we waited
                return
            started = time.monotonic()
            self._known = {
                os.path.normpath(os.path.join(prefix, each.name)): Shown(each, root)
                for prefix, root in self.folders.items()
                for each in _runs_below(root)
                if self.of_others or self._is_ours(each.folder)
            }
            self._looked_s = time.monotonic()
            self._took_s = self._looked_s - started

    def _is_ours(self, folder: str) -> bool:
        if folder not in self._ours and any(OURS in os.path.basename(path) for path in event_files(folder)):
            self._ours.add(folder)
        return folder in self._ours


def _runs_below(root: str) -> list[Found]:
    if not is_url(root):
        return find_runs(root)
    try:
        return find_stored_runs(root)
    except DebuggerError:  # a store out of reach has no runs now; the next look may find it again
        return []
