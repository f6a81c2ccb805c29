"""fix.diff of a zoo home: the edits that make fixed.py out of broken.py, as `diff -u` writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass

HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


@dataclass(frozen=True)
class Hunk:
    start: int  # the first line that is replaced, counted from 0
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class Patch:
    before: str  # the name of the script it is applied to
    after: str
    hunks: tuple[Hunk, ...]

    def apply(self, source: str) -> str:
        lines = source.splitlines()
        for hunk in reversed(self.hunks):
            end = hunk.start + len(hunk.before)
            if tuple(lines[hunk.start : end]) != hunk.before:
                raise ValueError(f"fix.diff does not fit {self.before} at line {hunk.start + 1}")
            lines[hunk.start : end] = hunk.after
        return "\n".join(lines) + "\n"


def read_patches(text: str) -> list[Patch]:
    """One for every `--- broken.py` / `+++ fixed.py` of the file."""
    sections = re.split(r"^--- (.+)\n\+\+\+ (.+)\n", text, flags=re.MULTILINE)[1:]
    grouped = zip(sections[0::3], sections[1::3], sections[2::3], strict=True)
    return [Patch(before, after, tuple(_hunks(body))) for before, after, body in grouped]


def _hunks(body: str) -> list[Hunk]:
    hunks = []
    for piece in re.split(r"^(?=@@ )", body, flags=re.MULTILINE)[1:]:
        head, *lines = piece.splitlines()
        match = HUNK.match(head)
        if match is None:
            raise ValueError(f"not the head of a hunk: {head}")
        first, count = int(match[1]), int(match[2] or 1)
        before = tuple(line[1:] for line in lines if line[:1] in " -")
        after = tuple(line[1:] for line in lines if line[:1] in " +")
        hunks.append(Hunk(first - 1 if count else first, before, after))
    return hunks
