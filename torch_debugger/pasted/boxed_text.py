"""Tracebacks as rich prints them: in a box, with an arrow before the line."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from torch_debugger.pasted.parts import TextFrame, TextTraceback, ending

_HEADER = re.compile(r"\W*Traceback \(most recent call last\)\W*[\u2500-]{3}")
_PLACE = re.compile(r"(?:in )?(?P<file>\S.*?\.py|<[^>]+>):(?P<line>\d+)(?: in (?P<function>\S+))?$")
_ARROW = re.compile(r"[\u2771>] *(?P<line>\d+)[ \u2502]*(?P<code>.*)$")
_BORDER, _CORNER = "\u2502|", ("\u2570", "+-", "\u2514")
_PATHS = ("/", "~", "C:\\", "D:\\")
_JOINTS = {"The above exception was the direct cause": "cause", "During handling of the above": "context"}
_MOST_TRACEBACKS, _MOST_LINES = 200, 5_000


def boxed_tracebacks(lines: list[str]) -> Iterator[TextTraceback]:
    starts = [index for index, line in enumerate(lines) if _HEADER.search(line)]
    for index in starts[-_MOST_TRACEBACKS:]:
        found = _read(lines[index + 1 : index + 1 + _MOST_LINES])
        if found.frames and found.kind:
            yield found


def _read(lines: list[str]) -> TextTraceback:
    found, closed = TextTraceback(), False
    for line, following in itertools.pairwise([*lines, ""]):
        content = line.strip()
        closed = closed or content.startswith(_CORNER)
        if _HEADER.search(line) or (found.kind and _is_over(found, line)):
            break
        found.lines.append(line)
        if found.kind:
            found.message += f"\n{line}"
        elif closed:
            found.kind, found.message = (ending(content) or ("", ""))[:2]
        else:
            _take_frame(found, _inside(line), _inside(following))
    found.message = found.message.strip("\n")
    return found


def _inside(line: str) -> str:
    return line.strip().strip(_BORDER).strip()


def _take_frame(found: TextTraceback, content: str, following: str) -> None:
    """A place may be broken over two lines of the box; the arrow has its line number whole."""
    arrow = _ARROW.match(content)
    whole = f"{content}{following}" if content.startswith(_PATHS) else ""
    place = _PLACE.match(content) or _PLACE.match(whole)
    if arrow is not None and found.frames:
        found.frames[-1].line, found.frames[-1].code = int(arrow["line"][:9]), arrow["code"].strip()
    elif place is not None:
        found.frames.append(TextFrame(place["file"], int(place["line"][:9]), place["function"] or ""))


def _is_over(found: TextTraceback, line: str) -> bool:
    for words, joint in _JOINTS.items():
        if line.startswith(words):
            found.leads_to_next = joint
            return True
    after_gap = found.message.endswith("\n")
    return after_gap and bool(line.strip()) and not line[0].isspace()
