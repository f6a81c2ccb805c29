"""The mouth of the river: whatever takes records."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch_debugger.records import Record


class Sink(Protocol):
    """A log writer, a judge, a list in a test. `add` is called from the training thread:
    it must return quickly and must not raise. One that only judges and keeps nothing has `keeps = False`."""

    def add(self, record: Record) -> None: ...


@runtime_checkable
class Keeper(Protocol):
    """A sink that writes a little later what it was given, and at once if it is asked to."""

    def flush(self) -> None: ...
