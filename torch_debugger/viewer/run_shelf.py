"""The runs that a page can show: found below the folders it was started with, opened when asked for.

A name that a browser sends is looked up among what was found, and never becomes a path.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from torch_debugger.archive.named_places import named_place
from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.runlog.stores import is_url
from torch_debugger.viewer.open_runs import OpenRuns
from torch_debugger.viewer.run_finder import RunFinder, Shown
from torch_debugger.viewer.standing import stand_of
from torch_debugger.viewer.trace_book import TraceBook

_Answer = TypeVar("_Answer")


def folders_of(logdir: str, spec: str = "") -> dict[str, str]:
    """Prefix -> folder. A spec is TensorBoard's `name:path,other:path`; a plain logdir has no prefix."""
    if logdir:
        return {"": os.path.expanduser(logdir)}
    named = [named_place(part) for part in spec.split(",") if part]
    return {name or path: os.path.expanduser(path) for name, path in named}


class RunShelf:
    """Safe to use from the many threads of a server; those who ask about the same run take turns. Runs that
    other tools have logged are there if `of_others`."""

    def __init__(self, folders: Mapping[str, str], *, of_others: bool = False) -> None:
        self._finder = RunFinder(folders, of_others=of_others)
        self._open = OpenRuns()
        self.traces = TraceBook()
        self.call_profiles: dict[str, dict[str, Any]] = {}  # of Python's own profilers, shown instead of runs

    @property
    def folders(self) -> dict[str, str]:
        return self._finder.folders

    def names(self) -> list[str]:
        """The one that was written last comes first."""
        known = self._finder.all()
        return sorted(known, key=lambda name: (-known[name].found.changed, name))

    def all_shown(self) -> dict[str, Shown]:
        return self._finder.all()

    def shown(self, name: str) -> Shown:
        """Where the run is. Raises UsageError for what is no run here, or is gone."""
        shown = self._finder.find(name)
        if shown is None:
            whose = "" if self._finder.of_others else " of torch-debugger"
            raise UsageError(f"There is no run {name!r}{whose} in the folder that is shown.")
        if not is_url(shown.found.folder) and not os.path.isdir(shown.found.folder):
            raise UsageError(f"The run {name!r} is gone: its folder was deleted or moved.")
        return shown

    def ask(self, name: str, question: Callable[[Run], _Answer]) -> _Answer:
        """What `question` makes of the run, read up to now."""
        found = self.shown(name).found
        one = self._open.take(name, found.folder, found.size_bytes)
        with one.lock:
            one.read_on()
            return question(one.run)

    def pulse(self, name: str) -> dict[str, Any]:
        """A word that changes with every byte that is written, and whether more may come. Nothing is read.
        `read_share` is there while somebody waits for the log to be read."""
        found = self.shown(name).found
        if is_url(found.folder):
            return {"version": f"{found.size_bytes}", "growing": False}
        now = stand_of(found.folder)
        opened = self._open.known(name)
        judged = opened.judged.news if opened is not None else 0
        version = f"{len(now.files)}-{now.size_bytes}-{now.ended:.6f}-{now.grows:d}-{judged}"
        busy = opened is not None and opened.judged.step is not None
        pulse = {"version": version, "growing": now.grows or busy}
        if opened is not None and opened.is_reading:
            pulse["read_share"] = opened.run.read_bytes / max(1, now.size_bytes)
        return pulse

    def forget(self, name: str) -> None:
        """After it was deleted."""
        self._open.close(name)
        self._finder.look_again()
