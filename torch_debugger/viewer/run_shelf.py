"""The runs of ours that a page can show: found below the folders it was started with, opened when asked for.

A name that a browser sends is looked up among what was found, and never becomes a path.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from torch_debugger.archive.folders import Found, event_files, find_runs
from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError

OURS = ".torch_debugger"  # in the name of every event file that we write
_LOOK_EVERY_S = 5.0
_READ_EVERY_S = 1.0
_STILL_S = 600.0
_MOST_OPEN = 4  # a run may take hundreds of megabytes

_Answer = TypeVar("_Answer")


def folders_of(logdir: str, spec: str = "") -> dict[str, str]:
    """Prefix -> folder. A spec is TensorBoard's `name:path,other:path`; a plain logdir has no prefix."""
    if logdir:
        return {"": os.path.expanduser(logdir)}
    folders: dict[str, str] = {}
    for part in filter(None, spec.split(",")):
        named = re.fullmatch(r"(?P<name>[^/:][^:]*):(?P<path>(?!//).+)", part)  # no s3://
        path = named["path"] if named else part
        folders[named["name"] if named else path] = os.path.expanduser(path)
    return folders


class RunShelf:
    """Safe to use from the many threads of a server; one run is read at a time."""

    def __init__(self, folders: Mapping[str, str]) -> None:
        self._folders = dict(folders)
        self._lock = threading.Lock()
        self._found: dict[str, Found] = {}  # by name
        self._looked = -_LOOK_EVERY_S
        self._open: OrderedDict[str, Run] = OrderedDict()
        self._read: dict[str, float] = {}

    def names(self) -> list[str]:
        """The one that was written last comes first."""
        with self._lock:
            self._look()
            return sorted(self._found, key=lambda name: (-self._found[name].changed, name))

    def found(self) -> dict[str, Found]:
        """By name, nothing opened: where each run is, when it was last written and how large it is."""
        with self._lock:
            self._look()
            return dict(self._found)

    def ask(self, name: str, question: Callable[[Run], _Answer]) -> _Answer:
        """What `question` makes of the run, read up to now."""
        with self._lock:
            self._look()
            if name not in self._found:
                raise UsageError(f"There is no run {name!r} of torch-debugger in the folder that is shown.")
            return question(self._up_to_now(name))

    def pulse(self, name: str) -> dict[str, Any]:
        """A word that changes with every byte that is written, and whether more may come."""
        with self._lock:
            self._look()
            found = self._found.get(name)
        if found is None:
            raise UsageError(f"There is no run {name!r} in the folder that is shown.")
        sizes = [os.stat(path) for path in event_files(found.folder)]
        total, newest = sum(each.st_size for each in sizes), max((each.st_mtime for each in sizes), default=0.0)
        return {"version": f"{len(sizes)}-{total}", "growing": time.time() - newest < _STILL_S}

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY_S:
            return
        self._looked = now
        self._found = {}
        for prefix, root in self._folders.items():
            for each in find_runs(root):
                if _is_ours(each.folder):
                    self._found[os.path.normpath(os.path.join(prefix, each.name))] = each

    def _up_to_now(self, name: str) -> Run:
        now = time.monotonic()
        run = self._open.pop(name, None) or Run(self._found[name].folder, name)
        self._open[name] = run
        if now - self._read.get(name, -_READ_EVERY_S) >= _READ_EVERY_S:
            self._read[name] = now
            run.poll()
        while len(self._open) > _MOST_OPEN:
            oldest, _ = self._open.popitem(last=False)
            self._read.pop(oldest, None)
        return run


def _is_ours(folder: str) -> bool:
    return any(OURS in os.path.basename(path) for path in event_files(folder))
