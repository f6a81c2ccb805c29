"""Findings with their symptoms gathered under them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_debugger.records import Finding


@dataclass(frozen=True, slots=True)
class Chapter:
    """A finding and all that it explains, directly or through another of its symptoms."""

    cause: Finding
    symptoms: tuple[Finding, ...]


def chapters_of(findings: Sequence[Finding]) -> tuple[Chapter, ...]:
    """In ranked order."""
    gathered: dict[int, list[Finding]] = {}
    for index, finding in enumerate(findings):
        root = _root(findings, index)
        gathered.setdefault(root, [])
        if root != index:
            gathered[root].append(finding)
    return tuple(Chapter(findings[root], tuple(gathered[root])) for root in sorted(gathered))


def cause_index(findings: Sequence[Finding], index: int) -> int | None:
    """Where the finding that explains this one stands, or None."""
    name = findings[index].symptom_of
    for position, candidate in enumerate(findings):
        if candidate.name == name and position != index:
            return position
    return None


def _root(findings: Sequence[Finding], index: int) -> int:
    path = [index]
    while (cause := cause_index(findings, path[-1])) is not None:
        if cause in path:  # checks that explain each other: the one ranked first leads
            return min(path[path.index(cause) :])
        path.append(cause)
    return path[-1]
