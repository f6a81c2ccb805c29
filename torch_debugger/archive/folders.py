"""Finds the folders that hold event files. No log is opened: a name, a time and a size each."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, replace

from torch_debugger.archive.hparam_folders import is_hparam_folder

MARK = "tfevents"  # in the name of every event file, whoever wrote it


@dataclass(frozen=True, slots=True)
class Found:
    name: str  # from the folder that was asked for
    folder: str
    changed: float  # the newest of its event files, seconds since the epoch
    size_bytes: int


def find_runs(root: str) -> list[Found]:
    """Every folder below `root`, itself included, that holds an event file, by name. A folder to which links
    lead as well is one run, under its own name. Notes of `add_hparams` belong to the run they are in."""
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
    return sorted(_with_notes_folded(found), key=lambda run: run.name)


def _with_notes_folded(found: list[Found]) -> list[Found]:
    runs = {run.folder: run for run in found}
    for note in found:
        around = runs.get(os.path.dirname(note.folder))
        if around is not None and is_hparam_folder(note.folder):
            runs[around.folder] = replace(around, changed=max(around.changed, note.changed))
            del runs[note.folder]
    return list(runs.values())


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
