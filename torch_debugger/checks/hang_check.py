"""What checks of a hang have in common: they judge when a rank is sure, and take it back when it goes on."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable
from typing import ClassVar

from torch_debugger.checks.hang_scene import Scene, scene_alone, scene_of, seconds
from torch_debugger.checks.rank_check import RankCheck
from torch_debugger.checks.rank_states import RankStates
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, HangFact, HangOver, Record
from torch_debugger.records.hangs import ENDED


class HangCheck(RankCheck):
    alone = True
    reads = (HangFact, HangOver)
    explains: ClassVar[tuple[str, ...]] = ("training-stands-still",)

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Finding] = {}

    @abc.abstractmethod
    def judge(self, scene: Scene) -> Iterable[Finding]:
        """Somebody is sure that nothing goes on; is it for the reason that this check knows?"""

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, HangOver):
            return self._take_back(record)
        return self._found_in(scene_alone(state))

    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> Iterable[Finding]:
        if isinstance(record, HangOver):
            return self._take_back(record)
        # One that tells its end says nothing of the others, who may have gone on and ended as well.
        ends = isinstance(record, HangFact) and record.kind == ENDED
        return () if ends else self._found_in(scene_of(ranks))

    def _found_in(self, scene: Scene | None) -> Iterable[Finding]:
        for finding in self.judge(scene) if scene is not None else ():
            self._found[finding.key] = finding
            yield finding

    def _take_back(self, over: HangOver) -> Iterable[Finding]:
        """It was slow, and no hang."""
        found, self._found = self._found, {}
        for finding in found.values():
            went_on = f"The training stood still for {seconds(over.still_s)} and then went on by itself. "
            yield dataclasses.replace(finding, severity="note", message=went_on + finding.message)
