"""The user's own lines around a place: the one spot of this room that reads files."""

from __future__ import annotations

import os
import textwrap
from dataclasses import dataclass

from torch_debugger.records import Place
from torch_debugger.report.printable import printable

_LARGEST_FILE_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class SourceLine:
    number: int
    text: str
    marked: bool


def excerpt(place: Place, folder: str | None, before: int = 2, after: int = 2) -> list[SourceLine]:
    """The marked line with its neighbours, dedented; that line alone when the file has changed
    or cannot be read; nothing when not even that is known."""
    return excerpt_of(_read_lines(_resolve(place.file, folder)), place, before, after)


def excerpt_of(lines: list[str], place: Place, before: int = 2, after: int = 2) -> list[SourceLine]:
    """The same of a file whose lines are known already."""
    if place.line is None:
        return []
    if not _stands_there(place, lines):
        return [SourceLine(place.line, printable(place.code), True)] if place.code else []
    start = max(place.line - 1 - before, 0)
    shown = lines[start : place.line + after]
    texts = textwrap.dedent("\n".join(printable(line.rstrip()) for line in shown)).split("\n")
    numbered = [SourceLine(start + 1 + i, text, start + 1 + i == place.line) for i, text in enumerate(texts)]
    return _trim_blank_ends(numbered)


def source_line(file: str, line: int) -> str | None:
    """The line itself, stripped; None where it cannot be read."""
    lines = _read_lines(file)
    return printable(lines[line - 1].strip()) or None if 0 < line <= len(lines) else None


def shown_path(file: str, folder: str | None) -> str:
    """The file as the user would type it: relative to the folder of the run, if it lies inside."""
    if folder and os.path.isabs(file):
        inside = os.path.relpath(file, folder)
        return file if inside.startswith(os.pardir) else inside
    return file


def short_paths(sentence: str, folder: str | None) -> str:
    """The sentence with all paths inside the folder of the run made relative to it."""
    inside = (folder or "").rstrip(os.sep)
    return sentence.replace(inside + os.sep, "") if inside else sentence


def _resolve(file: str | None, folder: str | None) -> str:
    return os.path.join(folder or "", file or "")


def _read_lines(path: str) -> list[str]:
    # isfile first: opening a pipe would wait for its other end.
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST_FILE_BYTES:
            return []
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read().expandtabs(4).split("\n")
    except (OSError, ValueError):  # ValueError: a null character in the path
        return []


def _stands_there(place: Place, lines: list[str]) -> bool:
    if place.line is None or not 1 <= place.line <= len(lines):
        return False
    return place.code is None or _same(place.code, lines[place.line - 1])


def _same(code: str, line: str) -> bool:
    return code.split() == line.split()


def _trim_blank_ends(lines: list[SourceLine]) -> list[SourceLine]:
    while lines and not lines[0].text.strip() and not lines[0].marked:
        lines = lines[1:]
    while lines and not lines[-1].text.strip() and not lines[-1].marked:
        lines = lines[:-1]
    return lines
