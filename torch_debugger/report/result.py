"""One run, ready to be shown: everything a report needs and nothing it has to work out."""

from __future__ import annotations

import dataclasses
import math
import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from torch_debugger.records import (
    CaseFact,
    CostFact,
    CrashFact,
    EndFact,
    Finding,
    HangFact,
    HangOver,
    HparamsFact,
    MemoryLook,
    Notice,
    ProbeFault,
    ProfileFact,
    RankEnd,
    RankFact,
    Record,
    RunFact,
    SampledStacks,
    Scalars,
    SeedFact,
    StepRehearsal,
    Surroundings,
    TrialResult,
    UntrainedModel,
)


@dataclass(frozen=True, slots=True)
class LossCurvePoints:
    """The loss curve in three points, each as (step, value); the lowest one is finite, if any is."""

    first: tuple[int, float]
    last: tuple[int, float]
    lowest: tuple[int, float] | None


@dataclass(frozen=True, slots=True)
class RankResult:
    """One rank of a distributed run."""

    rank: int
    local_rank: int
    world_size: int
    backend: str  # empty where its process group never stood
    host: str
    pid: int
    steps: int
    outcome: str  # finished | crashed | hung | stopped | unknown: its log ends without a word
    exit_code: int | None  # None where nobody saw its end


@dataclass(frozen=True, slots=True)
class RunResult:
    script: str
    run: RunFact | None  # None: the child ended before its first record
    folder: str | None  # where the script ran: paths inside are shown without it
    outcome: str  # finished | crashed | hung | stopped; explained: an exception by itself, of no known run
    steps: int
    counted: str  # what a step is here: "optimizer steps"
    findings: tuple[Finding, ...]  # ranked; the first is the verdict unless it is a note
    verdict: Finding | None
    cost: CostFact | None
    faults: tuple[ProbeFault, ...]
    notices: tuple[Notice, ...]
    losses: LossCurvePoints | None
    exit_code: int | None
    torch_seen: bool
    log: str | None
    checks: int  # how many checks judged the run; 0: not known
    told: tuple[Finding, ...] = ()  # shown already when the script crashed, above its traceback
    part: bool = False  # only some of the script was watched, from inside; it may go on
    case: CaseFact | None = None  # of a pre-flight
    trials: tuple[TrialResult, ...] = ()
    rehearsal: StepRehearsal | None = None  # of `rehearse`
    profile: ProfileFact | None = None  # of --profile
    sampled: tuple[SampledStacks, ...] = ()  # of each thread or worker the last
    memory: tuple[MemoryLook, ...] = ()  # of each device the fullest look
    untrained: tuple[UntrainedModel, ...] = ()  # called in a script without a backward
    hangs: tuple[HangFact, ...] = ()  # of each rank the last, where it did not go on
    ranks: tuple[RankResult, ...] = ()  # empty for a program of one process

    @property
    def chapters(self) -> tuple[Chapter, ...]:
        """The findings in ranked order, symptoms gathered under their cause."""
        return chapters_of(self.findings)

    def cause_index(self, index: int) -> int | None:
        """Where the finding that explains this one stands, or None."""
        return cause_index(self.findings, index)


# Findings with their symptoms gathered under them.
@dataclass(frozen=True, slots=True)
class Chapter:
    """A finding and all that it explains, directly or through another of its symptoms."""

    cause: Finding
    symptoms: tuple[Finding, ...]


def chapters_of(findings: Sequence[Finding]) -> tuple[Chapter, ...]:
    """In ranked order."""
    gathered: dict[int, list[Finding]] = {}
    for index, finding in enumerate(findings):
        root = _root(findings, index)
        gathered.setdefault(root, [])
        if root != index:
            gathered[root].append(finding)
    return tuple(Chapter(findings[root], tuple(gathered[root])) for root in sorted(gathered))


def cause_index(findings: Sequence[Finding], index: int) -> int | None:
    """Where the finding that explains this one stands, or None."""
    name = findings[index].symptom_of
    for position, candidate in enumerate(findings):
        if candidate.name == name and position != index:
            return position
    return None


def _root(findings: Sequence[Finding], index: int) -> int:
    path = [index]
    while (cause := cause_index(findings, path[-1])) is not None:
        if cause in path:  # checks that explain each other: the one ranked first leads
            return min(path[path.index(cause) :])
        path.append(cause)
    return path[-1]


# What a report needs beside the findings, gathered as the records go by.

# Every script has these, also one that never trains anything.
NO_SIGN_OF_TORCH = (
    RunFact, Surroundings, HparamsFact, SeedFact, EndFact, CostFact, ProbeFault, Notice, Finding, CrashFact,
)  # fmt: skip


class RunDigest:
    """Sees every record of one run; `result` may be asked for at any time."""

    def __init__(self, script: str = "") -> None:
        self.script = script  # for a child that ended before its first record, and for use without one
        self.folder = here()
        self.run: RunFact | None = None
        self.end: EndFact | None = None
        self.cost: CostFact | None = None
        self.faults: list[ProbeFault] = []
        self.notices: list[Notice] = []
        self.losses: LossCurvePoints | None = None
        self.step = 0
        self.torch_seen = False
        self.case: CaseFact | None = None
        self.trials: list[TrialResult] = []
        self.rehearsal: StepRehearsal | None = None
        self.profile: ProfileFact | None = None
        self.sampled: dict[str, SampledStacks] = {}
        self.untrained: list[UntrainedModel] = []
        self.hang: HangFact | None = None  # the last, where it did not go on
        self.memory: dict[str, MemoryLook] = {}  # by device, the fullest look; with the peak of all so far

    def see(self, record: Record) -> None:
        self.torch_seen = self.torch_seen or not isinstance(record, NO_SIGN_OF_TORCH)
        match record:
            case Scalars():
                self._see_scalars(record)
            case CostFact():
                self.cost = record
                self.step = max(self.step, record.step)
            case ProbeFault():
                self.faults.append(record)
            case Notice():
                self.notices.append(record)
            case RunFact():
                self.run = record
            case EndFact():
                self.end = record
                self.hang = None if record.outcome == "finished" else self.hang
            case CaseFact():
                self.case = record
            case TrialResult():
                self.trials.append(record)
            case StepRehearsal():
                self.rehearsal = record
            case ProfileFact():
                self.profile = record
            case SampledStacks():
                self.sampled[record.who] = record
            case MemoryLook():
                self._see_memory(record)
            case HangFact():
                self.hang = record
            case HangOver():
                self.hang = None
            case UntrainedModel():
                self.untrained.append(record)
            case _:
                pass

    def reached(self, step: int) -> None:
        """A step known from elsewhere: a process that was killed took its last second of log with it."""
        self.step = max(self.step, step)
        self.torch_seen = self.torch_seen or step > 0

    def result(
        self,
        findings: Sequence[Finding],
        *,
        outcome: str | None = None,
        exit_code: int | None = None,
        log: str | None = None,
        faults: Iterable[ProbeFault] = (),
        checks: int = 0,
    ) -> RunResult:
        """The run as it stands. `findings` are ranked, as the judge gives them."""
        return RunResult(
            script=self.run.script if self.run else self.script,
            run=self.run,
            folder=self.run.folder if self.run else self.folder,
            outcome=outcome or (self.end.outcome if self.end else outcome_of_exit(exit_code)),
            steps=self.end.steps if self.end else self.step,
            counted=self.end.counted if self.end else "steps",
            findings=tuple(findings),
            verdict=findings[0] if findings and findings[0].severity != "note" else None,
            cost=self.cost,
            faults=tuple(dict.fromkeys([*self.faults, *faults])),  # the judge passes on the probes' faults
            notices=tuple(dict.fromkeys(self.notices)),
            losses=self.losses,
            exit_code=exit_code,
            torch_seen=self.torch_seen,
            log=log,
            checks=checks,
            case=self.case,
            trials=tuple(self.trials),
            rehearsal=self.rehearsal,
            profile=self.profile,
            sampled=tuple(self.sampled.values()),
            memory=tuple(self.memory.values()),
            untrained=tuple(self.untrained),
            hangs=(self.hang,) if self.hang is not None and self.hang.final else (),
        )

    def _see_memory(self, record: MemoryLook) -> None:
        fullest = self.memory.get(record.device, record)
        fullest = record if record.used_bytes > fullest.used_bytes else fullest
        self.memory[record.device] = dataclasses.replace(fullest, peak_bytes=max(record.peak_bytes, fullest.peak_bytes))

    def _see_scalars(self, record: Scalars) -> None:
        self.step = max(self.step, record.step)
        if "loss" not in record.values:
            return
        point = (record.step, record.values["loss"])
        first, lowest = (self.losses.first, self.losses.lowest) if self.losses else (point, None)
        if math.isfinite(point[1]) and (lowest is None or point[1] < lowest[1]):
            lowest = point
        self.losses = LossCurvePoints(first, point, lowest)


def here() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # a working folder may be deleted under us
        return None


# What a report needs of a run of one process or of many: a digest of each, and which of them speaks.
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
    def losses(self) -> LossCurvePoints | None:
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
        known_errors = {fault.error for fault in speaking.faults}  # which the judge tells again, with its rank
        faults = [fault for fault in faults if not ranks or fault.error not in known_errors]
        result = speaking.result(findings, outcome=outcome, exit_code=exit_code, log=log, faults=faults, checks=checks)
        outcomes = [result.outcome, *(rank.outcome for rank in ranks)]
        worst = max((each for each in outcomes if each in _GRAVEST_LAST), key=_GRAVEST_LAST.index, default="")
        return dataclasses.replace(result, outcome=worst or result.outcome, ranks=ranks, hangs=self._hangs())

    def _hangs(self) -> tuple[HangFact, ...]:
        """What all ranks do, once one of them is sure that it stands still."""
        ranks = sorted(self._digests, key=lambda rank: -1 if rank is None else rank)
        found = tuple(hang for rank in ranks if (hang := self._digests[rank].hang) is not None)
        return found if any(hang.final for hang in found) else ()

    def _speaking(self) -> RunDigest:
        ranks = [rank for rank in self._digests if rank is not None]
        main = self._digests[None]
        return main if main.step or not ranks else self._digests[min(ranks)]

    def _results(self, facts: Mapping[int, RankFact], ends: Mapping[int, RankEnd]) -> tuple[RankResult, ...]:
        results = []
        for rank in sorted({rank for rank in self._digests if rank is not None} | set(facts)):
            digest = self._digests.get(rank, self._digests[None])  # a process that became a rank without a new log
            fact, end = facts.get(rank), ends.get(rank)
            if digest.end is not None:
                outcome = digest.end.outcome
            elif digest.hang is not None and digest.hang.final:
                outcome = "hung"
            else:
                outcome = outcome_of_exit(end.exit_code) if end else "unknown"
            result = RankResult(
                rank=rank,
                local_rank=fact.local_rank if fact else rank,
                world_size=fact.world_size if fact else 0,
                backend=fact.backend if fact else "",
                host=fact.host if fact else "",
                pid=fact.pid if fact else 0,
                steps=digest.end.steps if digest.end else max(digest.step, end.steps if end else 0),
                outcome=outcome,
                exit_code=end.exit_code if end else None,
            )
            results.append(result)
        return tuple(results)


# What an exit status tells of a process that could not tell its end itself.
def outcome_of_exit(exit_code: int | None) -> str:
    """The outcome of a process that could not say itself how it ended."""
    if not exit_code:
        return "finished"
    return "stopped" if ending_signal(exit_code) in (signal.SIGINT, signal.SIGTERM) else "crashed"


def ending_signal(exit_code: int | None) -> signal.Signals | None:
    """The signal in an exit status: -9 as subprocess says it, 137 as shells do."""
    code = exit_code or 0
    number = -code if code < 0 else code - 128
    return signal.Signals(number) if number in set(signal.Signals) else None
