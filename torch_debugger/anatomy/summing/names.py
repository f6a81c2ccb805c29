"""The first column of a summary: a tree of names, in our form or in torchinfo's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from torch_debugger.anatomy.summing.rows import Row
from torch_debugger.errors import UsageError

ASCII, DEPTH, VAR_NAMES, HIDE_REUSED = "ascii_only", "depth", "var_names", "hide_recursive_layers"
_SETTINGS = (ASCII, DEPTH, VAR_NAMES, HIDE_REUSED)
_TREE = {"branch": "├─ ", "last": "└─ ", "passing": "│  ", "over": "   "}
_ASCII_TREE = {"branch": "+- ", "last": "+- ", "passing": "|  ", "over": "   "}


def read_settings(row_settings: Iterable[str] | None) -> frozenset[str]:
    if row_settings is None:
        return frozenset()
    given = [row_settings] if isinstance(row_settings, str) else row_settings
    settings = frozenset(str(getattr(setting, "value", setting)) for setting in given)
    unknown = sorted(settings - set(_SETTINGS))
    if unknown:
        raise UsageError(f"row_settings has no {unknown[0]!r}: there are {', '.join(_SETTINGS)}.")
    return settings


def in_torchinfos_form(settings: frozenset[str]) -> bool:
    return bool(settings & {DEPTH, VAR_NAMES})


def times(settings: frozenset[str]) -> str:
    return "x" if ASCII in settings else "\N{MULTIPLICATION SIGN}"


class Name(NamedTuple):
    text: str
    inside: str  # what stands before the names of its parameters


def tree_names(rows: Sequence[Row], settings: frozenset[str]) -> list[Name]:
    """`conv1 (Conv2d)`; with torchinfo's settings `Conv2d (conv1): 1-1`."""
    tree = _ASCII_TREE if ASCII in settings else _TREE
    labels = _torchinfos(rows, settings) if in_torchinfos_form(settings) else [_own(row) for row in rows]
    names = []
    for row, label, (before, inside) in zip(rows, labels, _guides(rows, tree), strict=True):
        repeated = f" {times(settings)}{row.calls}" if row.calls > 1 else ""
        names.append(Name(f"{before}{printable(label)}{repeated}", inside))
    return names


def printable(text: str) -> str:
    """A module may be named after an escape sequence."""
    return text if text.isprintable() else ascii(text)[1:-1]


def _own(row: Row) -> str:
    return f"{row.name} ({row.kind})" if row.name else row.kind


def _torchinfos(rows: Sequence[Row], settings: frozenset[str]) -> list[str]:
    found, count = [], Counter[int]()
    for row in rows:
        count[row.depth] += 1
        name = f" ({row.name})" if VAR_NAMES in settings and row.name else ""
        index = f": {row.depth}-{count[row.depth]}" if DEPTH in settings and row.depth else ""
        found.append(f"{row.kind}{name}{index}")
    return found


def _guides(rows: Sequence[Row], tree: dict[str, str]) -> list[tuple[str, str]]:
    """What stands before a row, and before what is inside it; from the end, where it is known what follows."""
    found: list[tuple[str, str]] = []
    following: set[int] = set()  # depths at which another row comes before the tree goes back above them
    for row in reversed(rows):
        levels = [tree["passing" if level in following else "over"] for level in range(1, row.depth + 1)]
        own = tree["branch" if row.depth in following else "last"] if row.depth else ""
        has_inside = row.depth + 1 in following
        found.append(("".join(levels[:-1]) + own, "".join(levels) + tree["passing" if has_inside else "over"]))
        following = {level for level in following if level < row.depth} | {row.depth}
    return found[::-1]
