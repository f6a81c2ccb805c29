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
from torch_debugger.records import EndFact, Finding, HangFact, HangOver, Record
from torch_debugger.records.hangs import ENDED


class HangCheck(RankCheck):
    alone = True
    reads = (HangFact, HangOver, EndFact)
    explains: ClassVar[tuple[str, ...]] = ("training-stands-still",)

    def __init__(self) -> None:
        # With the ranks that stood still: where they go on, it was slow and no hang.
        self._found: dict[tuple[str, str], tuple[Finding, frozenset[int]]] = {}

    @abc.abstractmethod
    def judge(self, scene: Scene) -> Iterable[Finding]:
        """Somebody is sure that nothing goes on; is it for the reason that this check knows?"""

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, HangFact):
            return self._found_in(scene_alone(state))
        return self._take_back(record, 0)

    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> Iterable[Finding]:
        if not isinstance(record, HangFact):
            return self._take_back(record, rank)
        # One that tells its end says nothing of the others, who may have gone on and ended as well.
        return () if record.kind == ENDED else self._found_in(ranks.once(scene_of))

    def _found_in(self, scene: Scene | None) -> Iterable[Finding]:
        if scene is None:
            return
        for finding in self.judge(scene):
            self._found[finding.key] = finding, scene.standing
            yield finding

    def _take_back(self, record: Record, rank: int) -> Iterable[Finding]:
        """It was slow, and no hang: it went on, or has reached its end."""
        if isinstance(record, EndFact) and record.outcome != "finished":
            return
        found = {key: finding for key, (finding, still) in self._found.items() if rank in still}
        self._found = {key: each for key, each in self._found.items() if key not in found}
        took = f" for {seconds(record.still_s)}" if isinstance(record, HangOver) else ""
        for finding in found.values():
            went_on = f"The training stood still{took} and then went on by itself. "
            yield dataclasses.replace(finding, severity="note", message=went_on + finding.message)
