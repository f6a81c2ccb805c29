"""The line of the user's in a stack that torch's allocator has kept."""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable
from itertools import islice
from typing import Any

from torch_debugger.dumps.plain_values import as_count, as_text
from torch_debugger.foreign_paths import is_user_path, plain_path
from torch_debugger.records import Place

_DEEPEST = 500  # frames of one stack
_LONGEST_PATH = 4096
_LARGEST_SOURCE_BYTES = 4_000_000


class Lines:
    """Each stack is looked through once: torch writes the same few thousand down again and again."""

    def __init__(self, is_users: Callable[[str], bool] = is_user_path) -> None:
        self._is_users = is_users
        self._known: dict[tuple[str, int], Place] = {}

    def place_in(self, frames: Any) -> Place:
        """Of the innermost frame that is the user's; empty where there is none, as on the thread on which a
        GPU's backward runs."""
        for frame in islice(frames if type(frames) is list else (), _DEEPEST):
            if type(frame) is dict:
                file, line = as_text(frame.get("filename")), as_count(frame.get("line"))
                if line and len(file) < _LONGEST_PATH and _is_python(file) and self._is_users(plain_path(file)):
                    return self._place(file, line)
        return Place()

    def _place(self, file: str, line: int) -> Place:
        if (file, line) not in self._known:
            self._known[file, line] = Place(file, line, None, source_line(file, line))
        return self._known[file, line]


def _is_python(file: str) -> bool:
    """And not C++, which torch writes down as well if it is asked to."""
    return file.endswith(".py") or file.startswith("<ipython-input-")


def source_line(file: str, line: int) -> str | None:
    """As it stands in that file now, if the file is on this machine."""
    try:
        if not os.path.isfile(file) or os.path.getsize(file) > _LARGEST_SOURCE_BYTES:
            return None
    except (OSError, ValueError):  # ValueError: a null character in the path
        return None
    return linecache.getline(file, line).strip() or None
