"""Layers alike, one after the other, shown once: the eighty blocks of a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from torch_debugger.anatomy.summing.rows import Row

_FEWEST = 3


def drawn_together(rows: Sequence[Row], times: int = 1) -> list[Row]:
    """Only members of a list, whose names are numbers; `alike` says how many stand behind a row."""
    if not rows:
        return []
    shown = [replace(rows[0], alike=times)]
    for _, group in groupby(_members(rows[1:]), key=_form):
        several = list(group)
        if len(several) < _FEWEST:
            for member in several:
                shown += drawn_together(member, times)
        else:
            first, *inside = drawn_together(several[0], times * len(several))
            shown += [replace(first, name=f"{first.name} to {several[-1][0].name}"), *inside]
    return shown


def _members(rows: Sequence[Row]) -> list[list[Row]]:
    """Each row of the first one's depth, with those below it."""
    members: list[list[Row]] = []
    for row in rows:
        if row.depth == rows[0].depth:
            members.append([])
        members[-1].append(row)
    return members


def _form(member: list[Row]) -> tuple[Any, ...]:
    first, *inside = member
    numbered = "" if first.name.isdigit() else first.path
    return numbered, *_looks(first), *(part for row in inside for part in (row.name, row.depth, *_looks(row)))


def _looks(row: Row) -> tuple[Any, ...]:
    sizes = tuple((held.name, held.size) for held in row.held)
    own = replace(row.own, seconds=0.0)
    return row.kind, row.inputs, row.outputs, row.calls, row.idle, row.reused, sizes, own, row.dtype, row.device
