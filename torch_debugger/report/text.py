"""User text made safe to show: a module may be named after an escape sequence."""

from __future__ import annotations

import difflib
import os
import tempfile
import textwrap
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from torch_debugger.records import Edit, Place

# Control characters, surrogates, foreign line ends, and format characters that reorder or hide text.
_UNSAFE = ("Cc", "Cs", "Cf", "Zl", "Zp")
_JOINER = "\u200d"  # holds composed characters together and hides nothing


def printable(text: str) -> str:
    """The text with tabs widened and every character that could steer a terminal written out."""
    return "".join(_shown(character) for character in text.expandtabs(4))


def one_line(text: str) -> str:
    """Printable, with all white space drawn together: for sentences and names."""
    return printable(" ".join(text.split()))


def _shown(character: str) -> str:
    if unicodedata.category(character) in _UNSAFE and character != _JOINER:
        return character.encode("unicode_escape").decode("ascii")
    return character


# The user's own lines around a place: the one spot of this room that reads files.
_LARGEST_FILE_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class SourceLine:
    number: int
    text: str
    marked: bool


def excerpt(place: Place, folder: str | None) -> list[SourceLine]:
    """The marked line with its neighbours, dedented; that line alone when the file has changed
    or cannot be read; nothing when not even that is known."""
    path = os.path.join(folder or "", place.file or "")
    return excerpt_of(_read_lines(path), place)


def excerpt_of(lines: list[str], place: Place, before: int = 2, after: int = 2) -> list[SourceLine]:
    """The same of a file whose lines are known already."""
    if place.line is None:
        return []
    there = lines[place.line - 1] if 1 <= place.line <= len(lines) else None
    if there is None or (place.code is not None and place.code.split() != there.split()):
        return [SourceLine(place.line, printable(place.code), True)] if place.code else []
    start = max(place.line - 1 - before, 0)
    shown = lines[start : place.line + after]
    texts = textwrap.dedent("\n".join(printable(line.rstrip()) for line in shown)).split("\n")
    numbered = [SourceLine(start + 1 + i, text, start + 1 + i == place.line) for i, text in enumerate(texts)]
    while numbered and not numbered[0].text.strip() and not numbered[0].marked:
        numbered = numbered[1:]
    while numbered and not numbered[-1].text.strip() and not numbered[-1].marked:
        numbered = numbered[:-1]
    return numbered


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


def _read_lines(path: str) -> list[str]:
    # isfile first: opening a pipe would wait for its other end.
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST_FILE_BYTES:
            return []
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read().expandtabs(4).split("\n")
    except (OSError, ValueError):  # ValueError: a null character in the path
        return []


# An edit as the lines of a small diff.
def diff_lines(edit: Edit) -> list[tuple[str, str]]:
    """(mark, text) pairs, mark being '-', '+' or ' '; indentation all lines share is left out."""
    before, after = _lines(edit.before), _lines(edit.after)
    marks: list[str] = []
    texts: list[str] = []
    for tag, old_from, old_to, new_from, new_to in difflib.SequenceMatcher(None, before, after).get_opcodes():
        old, new = before[old_from:old_to], after[new_from:new_to]
        marks += [" "] * len(old) if tag == "equal" else ["-"] * len(old) + ["+"] * len(new)
        texts += old if tag == "equal" else old + new
    return list(zip(marks, textwrap.dedent("\n".join(texts)).split("\n"), strict=False))


def _lines(text: str) -> list[str]:
    """No lines at all for an empty text: the edit is then a pure insertion or removal."""
    return [printable(line.rstrip()) for line in text.split("\n")] if text else []


# A file that is there as a whole or not at all.
def write_whole(target: Path, text: str) -> None:
    """All of the text or nothing: whoever waits for the file never reads half of it."""
    if target.exists() and not target.is_file():  # /dev/stdout, a named pipe
        target.write_text(text, encoding="utf-8")
        return
    mask = os.umask(0)
    os.umask(mask)
    fd, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:  # also Ctrl-C: whatever it was, half a file is taken away and it goes on
        os.unlink(name)
        raise
