"""One run, ready to be shown: everything a report needs and nothing it has to work out."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records import (
    CaseFact,
    CostFact,
    Finding,
    HangFact,
    MemoryLook,
    Notice,
    ProbeFault,
    ProfileFact,
    RunFact,
    SampledStacks,
    StepRehearsal,
    TrialResult,
    UntrainedModel,
)
from torch_debugger.report.chapters import Chapter, cause_index, chapters_of


@dataclass(frozen=True, slots=True)
class Losses:
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
    losses: Losses | None
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
