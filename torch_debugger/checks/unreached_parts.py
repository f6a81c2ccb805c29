"""Parts of models that no gradient has reached in any look of a run."""

from __future__ import annotations

from torch_debugger.records import LedgerFact, Record, TensorRows, UnreachedPart


class UnreachedParts:
    """A part that gets a gradient even once, in a branch or in a later stage, is no longer one."""

    def __init__(self) -> None:
        self.parts: dict[str, UnreachedPart] = {}
        self.looks = 0  # at which the parts were unreached
        self.last_look = 0
        self._reached: set[str] = set()

    def see(self, record: Record) -> None:
        if isinstance(record, UnreachedPart):
            self.parts[record.part] = record
        elif isinstance(record, LedgerFact):
            self._reached |= {row.name for row in record.rows if row.gradient not in ("none", "zero")}
        elif isinstance(record, TensorRows) and record.table.kind == "parameter":
            self.looks += 1
            self.last_look = record.step
            if self.parts:
                self._reached.update(record.table.names)

    def left(self) -> list[UnreachedPart]:
        return [part for part in self.parts.values() if not self._is_reached(part)]

    def _is_reached(self, part: UnreachedPart) -> bool:
        return any(name == part.part or name.startswith(part.part + ".") for name in self._reached)


def by_line(parts: list[UnreachedPart]) -> list[tuple[UnreachedPart, int]]:
    """One part for every line that is at fault, and how many others it costs."""
    found: dict[tuple[str | None, int | None], list[UnreachedPart]] = {}
    for part in parts:
        found.setdefault((part.cut.file, part.cut.line), []).append(part)
    return [(group[0], len(group) - 1) for group in found.values()]


def size(part: UnreachedPart, others: int = 0) -> str:
    """`net.encoder` (4 parameters, 1,024 values)"""
    count = f"{part.parameters} parameters, " if part.parameters > 1 else ""
    like = f", like {others} other part{'s' if others > 1 else ''}," if others else ""
    return f"`{part.part}` ({count}{part.elements:,} values){like}"
