"""Spots added up: by line, by module, by name, by category."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from torch_debugger.records import MemorySpot
from torch_debugger.records.memory import BUFFERS, GRADIENTS, PARAMETERS
from torch_debugger.report.memory_table import MemoryRow, MemoryTable, tables_html, tables_text
from torch_debugger.report.source import shown_path

NOWHERE = "line not known"
_OF_MODULES = (PARAMETERS, GRADIENTS, BUFFERS)


@dataclass(frozen=True, slots=True)
class Hot:
    """One line, module, name or category, and what it holds."""

    what: str  # train.py:31 | net.fc1 | losses | parameters
    size_bytes: int
    count: int
    beside: str  # the code of a line, the names that hold what it made


@dataclass(frozen=True, slots=True)
class Stats:
    """`print` shows it as tables; the tuples hold the same as numbers, the largest first."""

    title: str
    total_bytes: int
    by_line: tuple[Hot, ...]
    by_module: tuple[Hot, ...]
    by_name: tuple[Hot, ...]
    by_category: tuple[Hot, ...]
    at_peak: tuple[Hot, ...] = ()  # by line, at the highest moment of a history
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return tables_text(self.title, self._tables(), self.notes)

    def _repr_html_(self) -> str:
        return tables_html(self.title, self._tables(), self.notes)

    def _tables(self) -> list[MemoryTable]:
        told = [
            ("by line", self.by_line),
            ("by line, at the peak", self.at_peak),
            ("by module", self.by_module),
            ("by name", self.by_name),
            ("by category", self.by_category),
        ]
        return [(title, rows_of(found)) for title, found in told if found]


def rows_of(found: Iterable[Hot]) -> list[MemoryRow]:
    return [(each.size_bytes, each.count, each.what, each.beside) for each in found]


def by_line(spots: Iterable[MemorySpot]) -> tuple[Hot, ...]:
    """What no line is known for is one row, so that the sum is the whole."""
    return _added(spots, _line, lambda spot: (spot.place.code or "", spot.name and f"[{spot.name}]"))


def by_module(spots: Iterable[MemorySpot]) -> tuple[Hot, ...]:
    inside = [spot for spot in spots if spot.place.module]
    return _added(inside, lambda spot: spot.place.module or "", lambda spot: (spot.category,))


def by_name(spots: Iterable[MemorySpot]) -> tuple[Hot, ...]:
    """Parameters and their gradients stand by module already."""
    named = [spot for spot in spots if spot.name and spot.category not in _OF_MODULES]
    return _added(named, lambda spot: spot.name, lambda spot: (spot.category,))


def by_category(spots: Iterable[MemorySpot]) -> tuple[Hot, ...]:
    return _added(spots, lambda spot: spot.category, lambda spot: ())


def _line(spot: MemorySpot) -> str:
    if not spot.place.file:
        return NOWHERE
    return f"{shown_path(spot.place.file, os.getcwd())}:{spot.place.line}"


def _added(
    spots: Iterable[MemorySpot],
    key: Callable[[MemorySpot], str],
    beside: Callable[[MemorySpot], tuple[str, ...]],
) -> tuple[Hot, ...]:
    sums: dict[str, list[MemorySpot]] = {}
    for spot in spots:
        sums.setdefault(key(spot), []).append(spot)
    found = [
        Hot(what, sum(each.size_bytes for each in same), sum(each.count for each in same), _words(same, beside))
        for what, same in sums.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.size_bytes, each.what)))


def _words(same: list[MemorySpot], beside: Callable[[MemorySpot], tuple[str, ...]]) -> str:
    """Each word once, those of the largest spots first, the first four of each kind."""
    largest = sorted(same, key=lambda each: -each.size_bytes)
    columns = zip(*map(beside, largest), strict=True)
    return " ".join(", ".join(list(dict.fromkeys(filter(None, column)))[:4]) for column in columns).strip()
