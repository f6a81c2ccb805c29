"""What could not be written is said once for each place in the script, and counted."""

from __future__ import annotations

import os
from collections import Counter

from torch_debugger.anatomy.frames import user_frame
from torch_debugger.errors import DebuggerError
from torch_debugger.saying import say


class Complaints:
    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._remarks: set[str] = set()

    def remark(self, call: str, sentence: str) -> None:
        """Something was written, but not as it was given; said for the first call of its kind."""
        if call not in self._remarks:
            self._remarks.add(call)
            say(f"{call}: {sentence}")

    def tell(self, call: str, tag: str, error: Exception) -> None:
        place = _calling_line()
        self._counts[call, place] += 1
        if self._counts[call, place] == 1:
            what = f"{call}({tag!r})" if tag else f"{call}()"
            say(f"{what} at {place} wrote nothing: {_why(error)} The training goes on.")

    def sum_up(self) -> None:
        """At the end: how often it was, where it was more than once."""
        for (call, place), count in self._counts.items():
            if count > 1:
                say(f"{call}() at {place} wrote nothing {count} times in all.")
        self._counts.clear()


def _why(error: Exception) -> str:
    try:
        words = str(error)
    except Exception:  # the user's own __str__ may raise
        return f"{type(error).__name__}."
    sentence = words if isinstance(error, DebuggerError) else f"{type(error).__name__}: {words}"
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."


def _calling_line() -> str:
    frame = user_frame(2)
    if frame is None:
        return "an unknown line"
    return f"{_shown(frame.f_code.co_filename)}:{frame.f_lineno}"


def _shown(path: str) -> str:
    try:
        return os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path
    except OSError:  # the working folder is gone
        return path
