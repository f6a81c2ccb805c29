"""The mouth of the river: whatever takes records."""

from __future__ import annotations

from typing import Protocol

from torch_debugger.records import Record


class Sink(Protocol):
    """A log writer, a judge, a list in a test. `add` is called from the training thread:
    it must return quickly and must not raise. One that only judges and keeps nothing has `keeps = False`."""

    def add(self, record: Record) -> None: ...
