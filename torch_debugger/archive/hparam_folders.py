"""Folders that torch's `add_hparams` makes inside a run's: its settings, no runs of their own."""

from __future__ import annotations

import os
import re
from functools import lru_cache

_NAME = re.compile(r"\d{9,11}\.\d+")  # time.time(), which torch names it by
_LARGEST_BYTES = 1_000_000
_SAID = b"_hparams_/session_start_info"


def hparam_folders(run_folder: str) -> list[str]:
    """Those inside a run's folder, the oldest first."""
    try:
        inside = sorted(entry.path for entry in os.scandir(run_folder) if _NAME.fullmatch(entry.name))
    except OSError:
        return []
    return [folder for folder in inside if is_hparam_folder(folder)]


def is_hparam_folder(folder: str) -> bool:
    """By its name first: of all others nothing is opened."""
    if not _NAME.fullmatch(os.path.basename(folder)):
        return False
    try:
        files = [(entry.path, entry.stat().st_size) for entry in os.scandir(folder)]
    except OSError:
        return False
    return len(files) == 1 and files[0][1] <= _LARGEST_BYTES and _says_hparams(*files[0])


@lru_cache(maxsize=1024)
def _says_hparams(path: str, size_bytes: int) -> bool:
    """The size is there so that a file that has grown is read again."""
    try:
        with open(path, "rb") as file:
            return _SAID in file.read(size_bytes)
    except OSError:
        return False
