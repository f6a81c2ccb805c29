"""Folders that `add_hparams` makes inside a run's: its settings and metrics, or trials that are runs each."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import lru_cache

from torch_debugger.archive import media, parsing
from torch_debugger.archive.event_file import EventFile
from torch_debugger.archive.event_names import MARK

_TIMED = re.compile(r"\d{9,11}\.\d+")  # time.time(), which torch names it by unless a name is given
_LARGEST_BYTES, _LARGEST_NAMED_BYTES = 1_000_000, 64_000
_MOST_NAMED = 500  # folders with other names that are looked into: there may be ten thousand runs
_SAID = b"_hparams_/session_start_info"

_Settings = tuple[tuple[str, bool | float | str], ...]


def hparam_folders(run_folder: str) -> list[str]:
    """Those inside a run's folder that say its settings, the oldest first. A writer that calls `add_hparams`
    with several settings tells of trials: then none of them is the run's own."""
    said = folders_of_hparams(run_folder)
    return list(said) if len(set(said.values())) <= 1 else []


def folders_of_hparams(run_folder: str) -> dict[str, _Settings]:
    """All that `add_hparams` has made inside a run's folder, with the settings in each."""
    try:
        inside = [entry for entry in os.scandir(run_folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return {}
    timed = [entry.path for entry in inside if _TIMED.fullmatch(entry.name)]
    named = [entry.path for entry in inside if not _TIMED.fullmatch(entry.name)]
    folders = sorted(timed) + sorted(named)[:_MOST_NAMED]
    found = ((folder, _said_in(folder)) for folder in folders)
    return {folder: said for folder, said in found if said is not None}


def _said_in(folder: str) -> _Settings | None:
    """None for a folder that holds anything besides settings and one number of each metric a file."""
    largest = _LARGEST_BYTES if _TIMED.fullmatch(os.path.basename(folder)) else _LARGEST_NAMED_BYTES
    try:
        files = sorted((entry.path, entry.stat().st_size) for entry in os.scandir(folder))
    except OSError:
        return None
    if not files or any(MARK not in os.path.basename(path) or size > largest for path, size in files):
        return None
    said: dict[str, bool | float | str] = {}
    for path, size in files:
        settings = _read(path, size)
        if settings is None:
            return None
        said |= settings
    return tuple(sorted(said.items()))


@lru_cache(maxsize=16384)
def _read(path: str, size_bytes: int) -> _Settings | None:
    """The size is there so that a file that has grown is read again."""
    try:
        with open(path, "rb") as file:
            if _SAID not in file.read(size_bytes):
                return None
    except OSError:
        return None
    log = EventFile(path)
    log.poll()
    if any(len(log.columns.points(tag).steps) > 1 for tag in log.columns.tags):
        return None
    if any(item.kind != "hparams" for item in log.items):
        return None
    said: dict[str, bool | float | str] = {}
    for _, payload in log.payloads(log.items):
        with suppress(*parsing.FOREIGN):
            for value in parsing.EventParser().parse(payload).values:
                said |= media.hparams(value)
    return tuple(sorted(said.items()))
