"""Finds the folders that hold event files. No log is opened: a name, a time and a size each."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, replace

from torch_debugger.archive.event_file import EventFile
from torch_debugger.archive.event_names import MARK
from torch_debugger.archive.hparam_folders import folders_of_hparams, hparam_folders
from torch_debugger.archive.series_folders import series_folders

_EMPTY_BYTES = 1000  # the first events of a log, which say no more than whose it is


@dataclass(frozen=True, slots=True)
class Found:
    name: str  # from the folder that was asked for
    folder: str
    changed: float  # the newest of its event files, seconds since the epoch
    size_bytes: int


def find_runs(root: str) -> list[Found]:
    """Every folder below `root`, itself included, that holds an event file, by name. A folder to which links
    lead as well is one run, under its own name."""
    found: list[Found] = []
    met: set[tuple[int, int]] = set()
    waiting: deque[str] = deque([root])
    while waiting:
        folder = waiting.pop()
        entries = _entries(folder, met)
        waiting.extend(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
        waiting.extendleft(entry.path for entry in entries if entry.is_symlink() and os.path.isdir(entry.path))
        files = [state for entry in entries if (state := _event_file(entry)) is not None]
        if files:
            changed, size = max(each.st_mtime for each in files), sum(each.st_size for each in files)
            found.append(Found(os.path.relpath(folder, root), folder, changed, size))
    return sorted(_folded(found), key=lambda run: run.name)


def _folded(found: list[Found]) -> list[Found]:
    """What `add_hparams` and `add_scalars` have put into folders of their own belongs to the run around it."""
    runs = {run.folder: run for run in found}
    for around in _with_runs_below(runs):
        parts = [*hparam_folders(around.folder), *(each.folder for each in series_folders(around.folder))]
        inside = [runs.pop(folder) for folder in parts if folder in runs]
        changed = max((run.changed for run in inside), default=around.changed)
        runs[around.folder] = replace(around, changed=max(around.changed, changed))
        if not inside and _is_frame_of_trials(around):
            del runs[around.folder]
    return list(runs.values())


def _with_runs_below(runs: dict[str, Found]) -> list[Found]:
    """The innermost first."""
    around: dict[str, Found] = {}
    for folder in runs:
        above = os.path.dirname(folder)
        while above and above not in around:
            if above in runs:
                around[above] = runs[above]
            if above == os.path.dirname(above):
                break
            above = os.path.dirname(above)
    return sorted(around.values(), key=lambda run: -len(run.folder))


def _is_frame_of_trials(run: Found) -> bool:
    """A writer that did nothing but tell of several trials: its own log is empty."""
    if run.size_bytes > _EMPTY_BYTES or not folders_of_hparams(run.folder):
        return False
    logs = [EventFile(path) for path in event_files(run.folder)]
    for log in logs:
        log.poll()
    return not any(log.columns.tags or log.items for log in logs)


def event_files(folder: str) -> list[str]:
    """The paths of a folder's event files, in the order of their names, which begin with their time."""
    try:
        return sorted(entry.path for entry in os.scandir(folder) if _event_file(entry) is not None)
    except OSError:
        return []


def _entries(folder: str, met: set[tuple[int, int]]) -> list[os.DirEntry[str]]:
    try:
        state = os.stat(folder)
        if (state.st_dev, state.st_ino) in met:
            return []
        met.add((state.st_dev, state.st_ino))
        return list(os.scandir(folder))
    except OSError:
        return []


def _event_file(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat() if MARK in entry.name and entry.is_file() else None
    except OSError:
        return None
