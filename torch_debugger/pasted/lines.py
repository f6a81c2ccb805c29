"""The text as lines that can be read: without colours, escapes and what loggers put before each line."""

from __future__ import annotations

import re

_LONGEST_TEXT = 2_000_000  # characters; of a longer log the end is read
_LONGEST_LINE = 4_000
_COLOURS = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-Z\\-_]")
_LOST_COLOURS = re.compile(r"\[(?:\d{1,3};)*\d{0,3}m(?=\S|\s|$)")  # an escape character lost on the way
_ESCAPED = re.compile(r"Traceback \(most recent call last\):\\{1,4}n")  # a traceback inside a JSON string
_CLOCK = re.compile(r"\d\d:\d\d")


def readable_lines(text: str) -> list[str]:
    text = text[-_LONGEST_TEXT:].replace("\r\n", "\n").replace("\r", "\n").replace("\u00a0", " ")
    lines: list[str] = []
    for line in _LOST_COLOURS.sub("", _COLOURS.sub("", text)).split("\n"):
        lines += _unescaped(line).split("\n") if _ESCAPED.search(line) else [line]
    return [line[:_LONGEST_LINE].rstrip() for line in lines]


def _unescaped(line: str) -> str:
    if '\\"' in line:  # JSON: the first quote that is not escaped ends the string
        start = line.index("Traceback (most")
        line = line[:start] + re.split(r'(?<!\\)"', line[start:], maxsplit=1)[0]
    plain = re.sub(r"\\{1,4}n", "\n", line)
    return re.sub(r'\\{1,4}"', '"', plain).replace("\\t", "\t")


class Prefix:
    """What stands before each line of one traceback: `[rank0]: `, `2024-05-01 12:00:01 ERROR `, `> `."""

    def __init__(self, text: str) -> None:
        self.text = text
        same = re.escape(text)
        if _CLOCK.search(text):  # every line has its own time
            same = re.sub(r"\d+", r"\\d+", same)
        self._pattern = re.compile(same)
        self._alone = re.compile(re.escape(text.rstrip()) + r"\s*$") if text.strip() else re.compile(r"\s*$")

    def strip(self, line: str) -> str | None:
        """The line without it; None for a line that belongs to something else."""
        match = self._pattern.match(line)
        if match is not None:
            return line[match.end() :]
        return "" if self._alone.match(line) else None
