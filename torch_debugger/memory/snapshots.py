"""A memory snapshot as an object: shown, kept as JSON, read again, compared. No torch is needed."""

from __future__ import annotations

import os
from typing import Any

from torch_debugger.dumps.allocator import read_allocator
from torch_debugger.dumps.opening import open_snapshot, snapshot_from_json, snapshot_to_json
from torch_debugger.errors import UsageError
from torch_debugger.memory.growth import Growth
from torch_debugger.memory.stats import NOWHERE, Hot, Stats, by_category, by_line, by_module, by_name
from torch_debugger.records import MemorySnapshot, MemorySpot
from torch_debugger.records.codec import to_plain
from torch_debugger.records.units import bytes_text

_MOST_DEVICES = 16  # told in a title
_SOURCES = {
    "live tensors": "the tensors that Python knows of",
    "recorded tensors": "all storages made while memory.record() was on, and the tensors that Python knows of",
    "allocator history": "torch's CUDA allocator and its history",
    "allocator": "torch's CUDA allocator, which had recorded no history",
}


class Snapshot:
    """What was in memory at one moment.

    snap = torch_debugger.memory.snapshot()
    print(snap.stats())            # hot spots by line, by module, by name; totals by category
    snap.save("memory.json")       # torch_debugger.memory.load("memory.json") reads it again
    print(later - snap)            # what grew in between
    """

    def __init__(self, fact: MemorySnapshot) -> None:
        self.fact = fact

    @property
    def spots(self) -> tuple[MemorySpot, ...]:
        """Storages that one line made, of one kind, under one name; the largest first."""
        return self.fact.spots

    @property
    def total_bytes(self) -> int:
        return sum(spot.size_bytes for spot in self.spots)

    def stats(self) -> Stats:
        """Where the memory is; `print` shows it."""
        peaks = by_line(self.fact.at_peak)
        return Stats(
            title=self._title(),
            total_bytes=self.total_bytes,
            by_line=_if_any_line(by_line(self.spots)),
            by_module=by_module(self.spots),
            by_name=by_name(self.spots),
            by_category=by_category(self.spots),
            at_peak=_if_any_line(peaks),
            notes=self.fact.notes,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """As JSON."""
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(snapshot_to_json(self.fact) + "\n")
        except OSError as error:
            raise UsageError(f"{os.fspath(path)} cannot be written: {error.strerror}.") from error

    def to_dict(self) -> dict[str, Any]:
        return to_plain(self.fact)

    def __sub__(self, before: Snapshot) -> Growth:
        return compare(before, self)

    def __str__(self) -> str:
        return str(self.stats())

    def _repr_html_(self) -> str:
        return self.stats()._repr_html_()

    def __repr__(self) -> str:
        return f"<memory snapshot: {bytes_text(self.total_bytes)} in {len(self.spots):,} spots>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self.fact == other.fact

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """`pickle.dump(snap, file)` keeps a text: `load` opens that too, and unpickles nothing but the text."""
        return from_json, (snapshot_to_json(self.fact),)

    def _title(self) -> str:
        parts = []
        for each in self.fact.devices[:_MOST_DEVICES]:
            beside = [f"{bytes_text(each.reserved_bytes)} reserved"] if each.reserved_bytes else []
            beside += [f"{bytes_text(each.peak_bytes)} at the peak"] if each.peak_bytes else []
            about = f" ({', '.join(beside)})" if beside else ""
            parts.append(f"{bytes_text(each.used_bytes)} on {each.device}{about}")
        source = _SOURCES.get(self.fact.source, self.fact.source)
        return f"Memory in use: {', '.join(parts) or 'nothing'}. Told by {source}."


def from_json(text: str) -> Snapshot:
    return Snapshot(snapshot_from_json(text, "The pickled snapshot"))


def load(path: str | os.PathLike[str] | dict[str, Any] | list[Any]) -> Snapshot:
    """A file of `save`, or a pickle of `torch.cuda.memory._dump_snapshot`, of which nothing is run; also what
    `torch.cuda.memory._snapshot()` and `torch.cuda.memory_snapshot()` return."""
    if isinstance(path, dict | list):
        return Snapshot(read_allocator(path))
    return Snapshot(open_snapshot(path))


def compare(before: Snapshot, after: Snapshot) -> Growth:
    """What grew and what shrank in between, by line and by name; the largest change first."""
    return Growth.between(before.spots, after.spots)


def _if_any_line(hot: tuple[Hot, ...]) -> tuple[Hot, ...]:
    """A table whose only row is the one without a line says nothing."""
    return hot if any(each.what != NOWHERE for each in hot) else ()
