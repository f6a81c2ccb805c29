"""Folders that `add_scalars` makes inside a run's: one for each series of a chart, with one tag in it.

torch and our own writer call them TAG_SERIES, with slashes of the tag as underscores; tensorboardX TAG/SERIES.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from torch_debugger.archive.event_names import MARK, writer_in
from torch_debugger.archive.parsing import FOREIGN, SCALARS, EventParser
from torch_debugger.runlog.frames import unframe

_HEAD_BYTES = 8_000  # more than a hundred numbers
_MOST_FOLDERS = 500  # that are looked through: there may be ten thousand runs below


class Series(NamedTuple):
    folder: str
    chart: str  # the tag given to `add_scalars`
    name: str

    @property
    def tag(self) -> str:
        """What the run calls it, beside its other tags."""
        return f"{self.chart}/{self.name}"


def series_folders(run_folder: str) -> list[Series]:
    """By chart and name. A folder is one if its name begins with the only tag that is in it, and the process
    that wrote it wrote the run as well."""
    names = _event_names(run_folder)
    if not names:
        return []
    writers = {writer_in(name) for name in names}
    found = (_series(run_folder, folder, files, writers) for folder, files in _logs_below(run_folder))
    return sorted((each for each in found if each is not None), key=lambda each: (each.chart, each.name))


def _series(run_folder: str, folder: str, files: list[str], writers: set[str]) -> Series | None:
    if any(writer_in(name) not in writers for name in files):
        return None
    tags = {_only_tag(path, min(os.path.getsize(path), _HEAD_BYTES)) for path in _paths(folder, files)}
    tag = tags.pop() if len(tags) == 1 else None
    relative = os.path.relpath(folder, run_folder).replace(os.sep, "/")
    for start in (f"{tag}/", f"{(tag or '').replace('/', '_')}_"):
        if tag and relative.startswith(start) and len(relative) > len(start):
            return Series(folder, tag, relative[len(start) :])
    return None


def _logs_below(root: str) -> Iterator[tuple[str, list[str]]]:
    """Each folder with event files and nothing else in it, and their names; a run has more beside its log."""
    waiting = deque([root])
    for _ in range(_MOST_FOLDERS):
        if not waiting:
            return
        folder = waiting.popleft()
        try:
            entries = list(os.scandir(folder))
            waiting.extend(sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False)))
            files = [entry.name for entry in entries if entry.is_file()]
        except OSError:
            continue
        if folder != root and files and all(MARK in name for name in files):
            yield folder, files


def _event_names(folder: str) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(folder) if MARK in entry.name and entry.is_file()]
    except OSError:
        return []


def _paths(folder: str, names: list[str]) -> list[str]:
    return [os.path.join(folder, name) for name in names]


@lru_cache(maxsize=16384)
def _only_tag(path: str, head_bytes: int) -> str | None:
    """The tag of all numbers at the beginning of a file; None if there are several, or anything else. How much
    is read stands in the call so that a file that was nearly empty is read again."""
    try:
        with open(path, "rb") as file:
            payloads = unframe(file.read(head_bytes)).payloads
        values = [value for payload in payloads for value in EventParser().parse(payload).values]
    except (OSError, *FOREIGN):
        return None
    tags = {value.tag for value in values}
    return tags.pop() if len(tags) == 1 and all(value.kind == SCALARS for value in values) else None
