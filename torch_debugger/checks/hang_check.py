"""What checks of a hang have in common: they judge when a rank is sure, and take it back when it goes on."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.hang_scene import Scene, scene_of, seconds
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, HangFact, HangOver, RankEnd, Record


class HangCheck(Check):
    reads = (HangFact, HangOver, RankEnd)
    explains: tuple[str, ...] = ("training-stands-still",)

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Finding] = {}

    @abc.abstractmethod
    def judge(self, scene: Scene) -> Iterable[Finding]:
        """Somebody is sure that nothing goes on; is it for the reason that this check knows?"""

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, HangOver):
            yield from self._take_back(record)
            return
        scene = scene_of(state)
        if scene is not None:
            for finding in self.judge(scene):
                self._found[finding.key] = finding
                yield finding

    def _take_back(self, over: HangOver) -> Iterable[Finding]:
        """It was slow, and no hang."""
        found, self._found = self._found, {}
        for finding in found.values():
            went_on = f"The training stood still for {seconds(over.still_s)} and then went on by itself. "
            yield dataclasses.replace(finding, severity="note", message=went_on + finding.message)
