"""What grew between two snapshots, and what shrank."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from torch_debugger.memory.stats import Hot, by_category, by_line, by_module, by_name, rows_of
from torch_debugger.records import MemorySpot
from torch_debugger.report.memory_table import MemoryTable, signed_bytes, tables_html, tables_text


@dataclass(frozen=True, slots=True)
class Growth:
    """Differences: `size_bytes` and `count` of a row may be negative. What stayed is left out."""

    total_bytes: int
    by_line: tuple[Hot, ...]
    by_module: tuple[Hot, ...]
    by_name: tuple[Hot, ...]
    by_category: tuple[Hot, ...]

    @staticmethod
    def between(before: Iterable[MemorySpot], after: Iterable[MemorySpot]) -> Growth:
        first, last = tuple(before), tuple(after)
        return Growth(
            sum(spot.size_bytes for spot in last) - sum(spot.size_bytes for spot in first),
            *(_differences(added, first, last) for added in (by_line, by_module, by_name, by_category)),
        )

    def to_dict(self) -> dict[str, object]:
        return dataclasses.asdict(self)

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.by_category or self.by_name or self.by_line)

    def __str__(self) -> str:
        return tables_text(self._title(), self._tables(), ())

    def _repr_html_(self) -> str:
        return tables_html(self._title(), self._tables(), ())

    def _title(self) -> str:
        if not self:
            return "Nothing grew and nothing shrank."
        verb = "grew" if self.total_bytes >= 0 else "shrank"
        return f"Memory {verb} by {signed_bytes(abs(self.total_bytes))}."

    def _tables(self) -> list[MemoryTable]:
        told = [
            ("by line", self.by_line),
            ("by module", self.by_module),
            ("by name", self.by_name),
            ("by category", self.by_category),
        ]
        return [(title, rows_of(found)) for title, found in told if found]


def _differences(
    added: Callable[[Iterable[MemorySpot]], tuple[Hot, ...]],
    before: Iterable[MemorySpot],
    after: Iterable[MemorySpot],
) -> tuple[Hot, ...]:
    first = {each.what: each for each in added(before)}
    last = {each.what: each for each in added(after)}
    found = []
    for what in {**first, **last}:
        old, new = first.get(what, Hot(what, 0, 0, "")), last.get(what, Hot(what, 0, 0, ""))
        if (old.size_bytes, old.count) != (new.size_bytes, new.count):
            size, count = new.size_bytes - old.size_bytes, new.count - old.count
            found.append(Hot(what, size, count, new.beside or old.beside))
    return tuple(sorted(found, key=lambda each: (-abs(each.size_bytes), each.what)))
