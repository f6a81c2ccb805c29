"""The probes of this process with a list for a sink."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from unittest.mock import patch

from torch_debugger.probes.async_steps import AsyncSteps as Lagging
from torch_debugger.probes.schedule import Governor
from torch_debugger.records import ProbeFault, Record, Scalars
from torch_debugger.runner import plumbing
from torch_debugger.runner.plumbing import Plumbing
from torch_debugger.settings import Settings

Kind = TypeVar("Kind")


class Seen(list[Record]):
    """Every record of a watch, in order."""

    plumbing: Plumbing

    def add(self, record: Record) -> None:
        self.append(record)

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [record for record in self if isinstance(record, kind)]

    def scalars(self, tag: str) -> dict[int, float]:
        """step -> value of one tag."""
        return {record.step: record.values[tag] for record in self.of(Scalars) if tag in record.values}


@contextmanager
def watched(*, deep: bool = True, faults: bool = False, **settings: Any) -> Iterator[Seen]:
    """Everything that runs inside is watched; with `deep` closely at each step. No probe may fail.

    Which other steps are looked at goes by their numbers: no budget of time buys looks, and none runs out.
    """
    seen = Seen()
    assert plumbing._current is None, "an earlier test did not end its watch"
    with patch.object(Governor, "ALLOWANCE_S", 1e6), patch.object(Lagging, "FREE_S", 1e6):
        chosen = Settings(**{"deep_always": deep, "budget": 0.0, **settings})
        seen.plumbing = plumbing.connect(chosen, [seen], None)
        try:
            yield seen
        finally:
            seen.plumbing.disconnect([seen], "finished")
    assert faults or not seen.of(ProbeFault), seen.of(ProbeFault)
