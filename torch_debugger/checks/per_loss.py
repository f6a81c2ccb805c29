"""Checks that read the graph of a loss: one finding a loss, told when first seen and again at the end."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import ClassVar

from torch_debugger.checks.base import Check
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, LossGraph, Record


class LossGraphCheck(Check):
    reads: ClassVar[tuple[type, ...]] = (LossGraph,)

    def __init__(self) -> None:
        self._first: dict[str, LossGraph] = {}  # site -> the graph it was first seen in

    @abc.abstractmethod
    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        """What is wrong with this graph, if anything is."""

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LossGraph) and record.site not in self._first:
            finding = self.judge(record, state)
            if finding is not None:
                self._first[record.site] = record
                yield finding

    def finish(self, state: RunState) -> Iterable[Finding]:
        """The same findings; by now the model is sure to be known, and the last step."""
        found = [self.judge(graph, state) for graph in self._first.values()]
        return [finding for finding in found if finding is not None]
