"""What the names of event files tell."""

from __future__ import annotations

import re

MARK = "tfevents"  # in the name of every event file, whoever wrote it
_NAME = re.compile(r"tfevents\.\d+(?:\.\d+)?\.(.*)", re.DOTALL)
_NUMBERED = re.compile(r"(.+\.\d+)\.\d+\D*", re.DOTALL)  # HOST.PROCESS.NUMBER, and a suffix


def writer_in(name: str) -> str:
    """The machine and the process that wrote a file of this name, as far as it says so: files of one writer
    agree in it."""
    found = _NAME.search(name)
    if found is None:
        return ""
    numbered = _NUMBERED.fullmatch(found[1])
    return numbered[1] if numbered else found[1]
