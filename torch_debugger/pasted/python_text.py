"""Tracebacks as the interpreter prints them, one after the other, out of any text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch_debugger.pasted.lines import Prefix
from torch_debugger.pasted.parts import TextFrame, TextTraceback, ending

_HEADER = re.compile(r"(?P<before>.*?)(?P<group>Exception Group )?Traceback \(most recent call last\):$")
_FRAME = re.compile(r'(?P<before>.*?)  File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_CARETS = re.compile(r"\s*[~^][~^\s]*$")
_LATER = 4  # lines after a header in which its first frame must come
_MOST_TRACEBACKS, _MOST_LINES, _MESSAGE_LINES = 200, 5_000, 200
INNER = "Original Traceback (most recent call last):"  # a worker's, inside the message of another
_JOINTS = {
    "The above exception was the direct cause of the following exception:": "cause",
    "During handling of the above exception, another exception occurred:": "context",
}
# What cannot be part of a message any more: a prompt, a fence, the next record of a log.
_OVER = re.compile(
    r"```|~~~|>>>(?: |$)|\$ |\[?\d{4}-\d\d-\d\d|[EWIF]\d{4} \d\d:|-{20}|={20}|srun:|slurmstepd:"
    r"|Exception ignored in"
)


def python_tracebacks(lines: list[str]) -> Iterator[TextTraceback]:
    """Every traceback of the text, in its order; without a header, what starts with the first frame."""
    starts = [index for index, line in enumerate(lines) if _is_header(line)]
    if not starts:
        frames = (index - 1 for index, line in enumerate(lines) if _FRAME.match(line))
        starts = [index for index in [next(frames, None)] if index is not None]
    for index in starts[-_MOST_TRACEBACKS:]:
        found = _Reader(lines, index).read()
        if found.kind or found.frames:
            yield found


def _is_header(line: str) -> bool:
    match = _HEADER.match(line)
    return match is not None and not match["before"].endswith("Original ") and "  File " not in line


class _Reader:
    """Reads one traceback, from its header to the end of its message."""

    def __init__(self, lines: list[str], start: int) -> None:
        self._lines, self._start = lines, start
        header = _HEADER.match(lines[start]) if start >= 0 else None
        self._prefix = Prefix(self._find_prefix(header["before"] if header else ""))
        self._found = TextTraceback(self._prefix.text, group=bool(header and header["group"]))
        self._guess: tuple[str, str] | None = None
        self._inner = False
        self._code_line = ""  # the last line of code, as it stands: carets point into it

    def _find_prefix(self, before: str) -> str:
        """The first frame's line shows it best: loggers put their own only before the header."""
        for line in self._lines[self._start + 1 : self._start + 1 + _LATER]:
            match = _FRAME.match(line)
            if match is not None:
                return match["before"]
        return before

    def read(self) -> TextTraceback:
        for line in self._lines[self._start + 1 : self._start + 1 + _MOST_LINES]:
            content = self._prefix.strip(line)
            if content is None and self._is_border(line):
                break
            if content is None:
                continue  # a line of somebody else, printed in between
            if _is_header(content) or not self._take(content):
                break
            self._found.lines.append(content)
        if not self._found.kind and self._guess is not None:
            self._found.kind, self._found.message = self._guess
        self._found.message = self._found.message.strip("\n")
        return self._found

    def _is_border(self, line: str) -> bool:
        """Of an exception group, between its parts; or the end of an indented block."""
        ended = bool(self._found.kind)
        return ended and (line.lstrip().startswith("+-") or not self._prefix.text.strip())

    def _take(self, content: str) -> bool:
        """One line; whether there may be more."""
        return self._take_message(content) if self._found.kind else self._take_frame(content)

    def _take_frame(self, content: str) -> bool:
        frame = _FRAME.match(content)
        if frame is not None and not frame["before"].strip():
            file, function = frame["file"], frame["function"] or "<module>"
            self._found.frames.append(TextFrame(file, int(frame["line"][:9]), function))
        elif content.startswith(("   ", "\t")):
            self._take_code(content)
        else:
            self._take_ending(content)
        return True

    def _take_code(self, content: str) -> None:
        if not self._found.frames:
            return
        frame = self._found.frames[-1]
        if _CARETS.match(content) and frame.code and not frame.marked:
            first, last = len(content) - len(content.lstrip()), len(content.rstrip())
            frame.marked = "" if "\n" in frame.code else self._code_line[first:last]
        elif not _CARETS.match(content):
            self._code_line = content
            frame.code = f"{frame.code}\n{content.strip()}".strip()

    def _take_ending(self, content: str) -> None:
        found = ending(content)
        if found is not None and found[2]:
            self._found.kind, self._found.message = found[:2]
        elif found is not None and self._found.frames:
            self._guess = self._guess or found[:2]

    def _take_message(self, content: str) -> bool:
        self._inner = self._inner or content.startswith(INNER)
        if content.strip() in _JOINTS:
            self._found.leads_to_next = _JOINTS[content.strip()]
            return False
        frame = _FRAME.match(content) if content.startswith("  File ") and not self._inner else None
        if frame is not None and frame["function"]:
            self._found.kind = self._found.message = ""  # that was no end: a line that looked like one
            return self._take_frame(content)
        told = self._found.message.split("\n")
        after_gap = len(told) > 1 and not told[-1].strip()
        stands_apart = after_gap and bool(content.strip()) and not content[0].isspace()
        if _OVER.match(content) or stands_apart or len(told) > _MESSAGE_LINES:
            return False
        self._found.message += f"\n{content}"
        return True
