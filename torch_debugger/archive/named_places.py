"""Folders and URLs with names of the user's in front: base:runs/a, as in TensorBoard's --logdir_spec."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

_NAMED = re.compile(r"(?P<name>[^/\\:][^/\\:]*):(?P<place>(?!//).+)", re.DOTALL)  # no s3://, no /with:colon
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def named_place(said: str) -> tuple[str | None, str]:
    """The name, or None, and the place. A path that is there is a path, whatever it looks like; C:\\runs is one
    on every system, C:/runs where it cannot be the run c."""
    found = _NAMED.fullmatch(said)
    if found is None or os.path.exists(said) or _is_drive(said):
        return None, said
    return found["name"], found["place"]


def named_places(words: Sequence[str]) -> list[tuple[str | None, str]]:
    """Of several arguments, in each of which there may be several with commas between."""
    return [named_place(part) for word in words for part in _parts(word)]


def _parts(word: str) -> list[str]:
    """A comma separates only what has a name: it can stand in the name of a folder."""
    if os.path.exists(word) or "," not in word:
        return [word]
    parts = [part for part in word.split(",") if part]
    named = [named_place(part) for part in parts]
    are_there = all(os.path.exists(place) or "://" in place for _, place in named)
    return parts if are_there or any(name is not None for name, _ in named) else [word]


def _is_drive(said: str) -> bool:
    return bool(_DRIVE.match(said)) and (os.name == "nt" or said[2] == "\\" or not os.path.exists(said[2:]))
