"""What the records of all ranks add up to: one state per rank, and what is known of the ranks themselves."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from torch_debugger.checks.state import RunState
from torch_debugger.records import CrashFact, RankEnd, RankFact, Record
from torch_debugger.records.ranks import ASKED_TO_END

T = TypeVar("T")
# From outside, or by a fault of native code. Not SIGABRT: by that gloo gives up when another rank is gone.
_KILLED = {128 + number for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL)}
_NOTICED_S = 5.0  # after it happened, at most; torchrun kills those that do not end by themselves after 30


@dataclass
class RankStates:
    """Shared by all checks across ranks, changed by the judge alone."""

    states: dict[int, RunState] = field(default_factory=dict)  # by rank: of those that were heard of
    facts: dict[int, RankFact] = field(default_factory=dict)
    crashes: dict[int, CrashFact] = field(default_factory=dict)
    ends: dict[int, RankEnd] = field(default_factory=dict)
    _ended_processes: dict[int, RankEnd] = field(default_factory=dict)  # by number: of ranks, or of others
    _made: dict[Callable[[RankStates], Any], Any] = field(default_factory=dict)

    @property
    def world_size(self) -> int:
        """As the ranks say themselves; else as many as were heard of."""
        told = (fact.world_size for fact in self.facts.values())
        return max([*told, *(rank + 1 for rank in self.states)], default=0)

    def once(self, make: Callable[[RankStates], T]) -> T:
        """What many checks ask for after a record is made for the first of them."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    def see(self, rank: int, record: Record) -> None:
        self._made.clear()
        if isinstance(record, RankFact):
            self.facts[rank] = _with_backend(record, self.facts.get(rank))
            if record.pid in self._ended_processes:
                self.see_end(self._ended_processes[record.pid])
        elif isinstance(record, RankEnd):
            self.ends[rank] = record
        elif isinstance(record, CrashFact):
            self.crashes[rank] = record

    def see_end(self, end: RankEnd) -> None:
        """Of a process that the script started. Whether it was a rank is told by what that process logged."""
        self._made.clear()
        self._ended_processes[end.pid] = end
        for rank, fact in self.facts.items():
            if fact.pid == end.pid and rank not in self.ends:
                self.ends[rank] = dataclasses.replace(end, rank=rank, steps=self.states[rank].step)

    def ended_in_order(self, rank: int) -> bool:
        """Also where it was asked to end when it had: by mp.spawn, for another rank has failed."""
        code, state = self.ends[rank].exit_code, self.states.get(rank)
        finished = state is not None and state.end is not None and state.end.outcome == "finished"
        return rank not in self.crashes and (code == 0 or (code == ASKED_TO_END and finished))

    def failed(self) -> list[int]:
        """The ranks that ended with an exit code other than 0 before their work was done, the first of them
        first."""
        failed = [end for end in self.ends.values() if end.exit_code and not self.ended_in_order(end.rank)]
        return [end.rank for end in sorted(failed, key=self._ended)]

    def _ended(self, end: RankEnd) -> float:
        """On a busy machine a kill is noticed after the exception of a rank that lost its connection by it."""
        was_killed = end.exit_code in _KILLED and end.rank not in self.crashes
        return end.ended - (_NOTICED_S if was_killed else 0.0)


def _with_backend(fact: RankFact, before: RankFact | None) -> RankFact:
    """The process that starts a rank does not know its backend, and may be heard after the one that does."""
    return before if before is not None and before.backend and not fact.backend else fact
