"""Failures as pytest prints them: `net.py:14: in forward`, and the exception behind an E."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch_debugger.pasted.parts import TextFrame, TextTraceback, ending

_PLACE = re.compile(r"(?P<file>\S.*?\.py):(?P<line>\d+):(?: in (?P<function>\S+)| (?P<kind>[A-Z]\w*))?$")
_BORDER = re.compile(r"_{3,} .+ _{3,}$|={3,}")  # the title of a failure, or the end of all


def pytest_failures(lines: list[str]) -> Iterator[TextTraceback]:
    borders = [index for index, line in enumerate(lines) if _BORDER.match(line)]
    for start, end in zip([-1, *borders], [*borders, len(lines)], strict=True):
        found = _read(lines[start + 1 : end])
        if found.frames and found.kind:
            yield found


def _read(lines: list[str]) -> TextTraceback:
    """The line with an arrow stands above the place it belongs to, other code below."""
    found, code = TextTraceback(lines=lines), ""
    for index, line in enumerate(lines):
        place = _PLACE.match(line)
        if line.startswith(">  "):
            code = line[1:].strip()
        elif line.startswith("E  "):
            _take_error(found, line[1:].strip())
        elif place is not None and (code or not place["kind"]):
            below = lines[index + 1] if index + 1 < len(lines) else ""
            told = code or (below.strip() if below.startswith("    ") else "")
            found.frames.append(TextFrame(place["file"], int(place["line"][:9]), place["function"] or "", told))
            code = ""
    return found


def _take_error(found: TextTraceback, told: str) -> None:
    if found.kind:
        found.message += f"\n{told}"
    else:
        found.kind, found.message = (ending(told) or ("AssertionError", told))[:2]
