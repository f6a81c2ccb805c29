"""The traces of torch.profiler that a page shows: as they were read, or how far reading them has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from torch_debugger.errors import UsageError
from torch_debugger.records import Finding, TraceReport


class Timeline(Protocol):
    """Of which the page asks for one stretch after the other."""

    @property
    def took_s(self) -> float: ...

    def window(self, from_s: float, to_s: float, pixels: int, *, python: bool) -> dict[str, Any]: ...

    def find(self, words: str, after_s: float, *, python: bool) -> dict[str, Any] | None: ...


@dataclass(frozen=True)
class OpenTrace:
    report: TraceReport
    timeline: Timeline
    findings: tuple[Finding, ...]


class TraceBook:
    """Filled by one thread while those of a server read it."""

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        self.files = dict(files or {})
        self._open: dict[str, OpenTrace] = {}
        self._failed: dict[str, str] = {}
        self._shares: dict[str, float] = {}

    def add(self, name: str, trace: OpenTrace) -> None:
        self._open[name] = trace

    def fail(self, name: str, why: str) -> None:
        self._failed[name] = why

    def note_share(self, name: str, share: float) -> None:
        self._shares[name] = share

    def listed(self) -> list[dict[str, Any]]:
        return [self._entry(name, file) for name, file in self.files.items()]

    def _entry(self, name: str, file: str) -> dict[str, Any]:
        trace = self._open.get(name)
        rank = trace.report.rank if trace is not None else None
        return {
            "name": name,
            "file": file,
            "ready": trace is not None,
            "error": self._failed.get(name),
            "share": self._shares.get(name),
            "rank": rank.rank if rank is not None and rank.world_size > 1 else None,
            "step_s": trace.report.step_s if trace is not None else None,
        }

    def opened(self) -> dict[str, OpenTrace]:
        return dict(self._open)

    def find(self, name: str) -> OpenTrace:
        """Looked up among what is shown: a name that a browser sends never becomes a path."""
        trace = self._open.get(name)
        if trace is not None:
            return trace
        if name in self._failed:
            raise UsageError(self._failed[name])
        if name in self.files:
            raise UsageError(f"The trace {name!r} is being read.")
        raise UsageError(f"There is no trace {name!r} among what is shown.")
