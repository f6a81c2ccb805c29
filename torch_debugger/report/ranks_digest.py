"""What a report needs of a run of one process or of many: a digest of each, and which of them speaks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from torch_debugger.records import Finding, HangFact, ProbeFault, RankEnd, RankFact, Record
from torch_debugger.report.digest import RunDigest
from torch_debugger.report.exits import outcome_of_exit
from torch_debugger.report.result import Losses, RankResult, RunResult

_NONE: Mapping[int, Any] = MappingProxyType({})
_GRAVEST_LAST = ("finished", "stopped", "hung", "crashed")


class RanksDigest:
    """Sees every record of a run with the rank whose log it stands in: None is a program of one process, or
    the one that started the others. The lowest rank tells steps and losses for all."""

    def __init__(self, script: str = "") -> None:
        self.script = script
        self._digests: dict[int | None, RunDigest] = {None: RunDigest(script)}

    def see(self, record: Record, rank: int | None = None) -> None:
        if rank not in self._digests:
            self._digests[rank] = RunDigest(self.script)
        self._digests[rank].see(record)

    def reached(self, step: int) -> None:
        self._speaking().reached(step)

    @property
    def losses(self) -> Losses | None:
        return self._speaking().losses

    @property
    def step(self) -> int:
        return self._speaking().step

    def result(
        self,
        findings: Sequence[Finding],
        *,
        outcome: str | None = None,
        exit_code: int | None = None,
        log: str | None = None,
        faults: Iterable[ProbeFault] = (),
        checks: int = 0,
        facts: Mapping[int, RankFact] = _NONE,
        ends: Mapping[int, RankEnd] = _NONE,
    ) -> RunResult:
        """The run as it stands: as its lowest rank has it, and its end as the rank that fared worst. `facts`
        and `ends` tell of each rank who it is and how its process ended."""
        speaking, ranks = self._speaking(), self._results(facts, ends)
        spoken = {fault.error for fault in speaking.faults}  # which the judge tells again, with its rank
        faults = [fault for fault in faults if not ranks or fault.error not in spoken]
        result = speaking.result(
            findings, outcome=outcome, exit_code=exit_code, log=log, faults=faults, checks=checks
        )
        outcomes = [result.outcome, *(rank.outcome for rank in ranks)]
        worst = max((each for each in outcomes if each in _GRAVEST_LAST), key=_GRAVEST_LAST.index, default="")
        return dataclasses.replace(result, outcome=worst or result.outcome, ranks=ranks, hangs=self._hangs())

    def _hangs(self) -> tuple[HangFact, ...]:
        """What all ranks do, once one of them is sure that it stands still."""
        told = [
            self._digests[rank].hang
            for rank in sorted(self._digests, key=lambda rank: -1 if rank is None else rank)
        ]
        found = tuple(hang for hang in told if hang is not None)
        return found if any(hang.final for hang in found) else ()

    def _speaking(self) -> RunDigest:
        ranks = [rank for rank in self._digests if rank is not None]
        main = self._digests[None]
        return main if main.step or not ranks else self._digests[min(ranks)]

    def _results(self, facts: Mapping[int, RankFact], ends: Mapping[int, RankEnd]) -> tuple[RankResult, ...]:
        heard = {rank for rank in self._digests if rank is not None} | set(facts)
        return tuple(self._result_of(rank, facts.get(rank), ends.get(rank)) for rank in sorted(heard))

    def _result_of(self, rank: int, fact: RankFact | None, end: RankEnd | None) -> RankResult:
        digest = self._digests.get(rank, self._digests[None])  # a process that became a rank without a new log
        told = digest.end.outcome if digest.end is not None else None
        return RankResult(
            rank=rank,
            local_rank=fact.local_rank if fact else rank,
            world_size=fact.world_size if fact else 0,
            backend=fact.backend if fact else "",
            host=fact.host if fact else "",
            pid=fact.pid if fact else 0,
            steps=digest.end.steps if digest.end else max(digest.step, end.steps if end else 0),
            outcome=told or _outcome(digest, end),
            exit_code=end.exit_code if end else None,
        )


def _outcome(digest: RunDigest, end: RankEnd | None) -> str:
    """Of a rank that could not say it itself."""
    if digest.hang is not None and digest.hang.final:
        return "hung"
    return outcome_of_exit(end.exit_code) if end else "unknown"
