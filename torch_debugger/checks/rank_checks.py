"""A check that sees several ranks: an entry of the catalog like any other, asked by the judge of all ranks."""

from __future__ import annotations

import abc
import dataclasses
import math
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from torch_debugger.checks.base import Check, RunState
from torch_debugger.records import (
    CalledModel,
    CrashFact,
    Finding,
    GradientAverage,
    RankDigest,
    RankEnd,
    RankFact,
    Record,
)
from torch_debugger.records.ranks import SIGTERM_EXIT_CODE


class RankCheck(Check):
    """Records of all ranks in, findings out. It is asked only where there is more than one rank: what
    was logged before the second was heard of is handed to it then. Between ranks there is no order but that
    of steps and of the times that records carry: one rank's log may be read long before another's."""

    alone: ClassVar[bool] = False  # asked as well about a program of one process, by `see`

    @abc.abstractmethod
    def see_rank(self, rank: int, record: Any, ranks: RankStates) -> Iterable[Finding] | None:
        """Judge one record of a class named in `reads`, made on this rank. `ranks` already includes it."""

    def finish_ranks(self, ranks: RankStates) -> Iterable[Finding]:
        """Judge what only the end of all ranks can tell."""
        return ()

    def see(self, record: Any, state: RunState) -> Iterable[Finding] | None:
        """One rank by itself tells it nothing."""
        return None

    def finish(self, state: RunState) -> Iterable[Finding]:
        return ()


# What the records of all ranks add up to: one state per rank, and what is known of the ranks themselves.
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
        said = (fact.world_size for fact in self.facts.values())
        return max([*said, *(rank + 1 for rank in self.states)], default=0)

    def once(self, make: Callable[[RankStates], T]) -> T:
        """What many checks ask for after a record is made for the first of them."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    def see(self, rank: int, record: Record) -> None:
        self._made.clear()
        if isinstance(record, RankFact):
            # The process that starts a rank does not know its backend, and may be heard after the one that does.
            before = self.facts.get(rank)
            if before is None or not before.backend or record.backend:
                self.facts[rank] = record
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
        return rank not in self.crashes and (code == 0 or (code == SIGTERM_EXIT_CODE and finished))

    def failed(self) -> list[int]:
        """The ranks that ended with an exit code other than 0 before their work was done, the first of them
        first."""
        failed: list[tuple[float, int]] = []
        for end in self.ends.values():
            if end.exit_code and not self.ended_in_order(end.rank):
                # On a busy machine a kill is noticed after the exception of a rank that lost its connection by it.
                was_killed = end.exit_code in _KILLED and end.rank not in self.crashes
                failed.append((end.ended - (_NOTICED_S if was_killed else 0.0), end.rank))
        return [rank for _, rank in sorted(failed, key=lambda each: each[0])]


# The digests of all ranks, put side by side: what is equal at the same step, and what is not.
@dataclass(frozen=True)
class SideBySide:
    """One step of one optimizer, as all ranks have it."""

    digests: Mapping[int, RankDigest]  # by rank

    @property
    def first(self) -> RankDigest:
        return self.digests[min(self.digests)]

    @property
    def step(self) -> int:
        return self.first.step

    @property
    def average(self) -> GradientAverage:
        assert self.first.average is not None  # else it would not be here
        return self.first.average

    @property
    def is_from_the_start(self) -> bool:
        """Before any rank has changed anything."""
        return all(digest.updates == 0 for digest in self.digests.values())

    def calls(self) -> Iterator[tuple[int, CalledModel]]:
        for rank, digest in self.digests.items():
            for call in digest.calls:
                yield rank, call

    def inputs(self) -> dict[int, tuple[int, ...]]:
        """By rank: what its models were given."""
        return {
            rank: tuple(each for call in digest.calls for each in call.inputs) for rank, digest in self.digests.items()
        }

    def different_weights(self) -> list[str]:
        """Names of parameters; none where something is not finite, which is another fault's matter."""
        norms = (norm for digest in self.digests.values() for norm in digest.norms)
        if not all(math.isfinite(norm) for norm in norms):
            return []
        return self._different({rank: digest.weights for rank, digest in self.digests.items()})

    def different_gradients(self) -> list[str]:
        return self._different({rank: digest.gradients for rank, digest in self.digests.items()})

    def norms_of(self, name: str) -> dict[int, float]:
        return {rank: digest.norms[digest.names.index(name)] for rank, digest in self.digests.items()}

    def _different(self, sums: Mapping[int, tuple[int, ...]]) -> list[str]:
        alike = {(digest.names, digest.shapes) for digest in self.digests.values()}
        if len(alike) > 1:  # other parameters on other ranks: not the same model
            return []
        columns = zip(self.first.names, *sums.values(), strict=True)
        return [name for name, *column in columns if len(set(column)) > 1]


@dataclass
class DigestsOfRanks:
    """Waits until all ranks have told a step that something should have made equal."""

    WAITING = 64  # steps that some rank has not told yet

    _waiting: dict[tuple[int, int], dict[int, RankDigest]] = field(default_factory=dict)

    def add(self, rank: int, digest: RankDigest, ranks: RankStates) -> SideBySide | None:
        average = digest.average
        if average is None or average.ranks < 2 or average.hooked or average.joins:
            return None  # of ranks that join early, the same number is another step
        digests = self._waiting.setdefault((digest.optimizer, digest.step), {})
        digests[rank] = digest
        if len(digests) < average.ranks or average.ranks != ranks.world_size:
            if len(self._waiting) > self.WAITING:
                self._waiting.pop(next(iter(self._waiting)))
            return None
        del self._waiting[digest.optimizer, digest.step]
        return SideBySide(dict(sorted(digests.items())))
