"""One run, ready to be shown: everything a report needs and nothing it has to work out."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records import (
    CaseFact,
    CostFact,
    Finding,
    Notice,
    ProbeFault,
    RunFact,
    StepRehearsal,
    TrialResult,
)


@dataclass(frozen=True, slots=True)
class Losses:
    """The loss curve in three points, each as (step, value); the lowest one is finite, if any is."""

    first: tuple[int, float]
    last: tuple[int, float]
    lowest: tuple[int, float] | None


@dataclass(frozen=True, slots=True)
class Chapter:
    """A finding and all that it explains, directly or through another of its symptoms."""

    cause: Finding
    symptoms: tuple[Finding, ...]


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

    @property
    def chapters(self) -> tuple[Chapter, ...]:
        """The findings in ranked order, symptoms gathered under their cause."""
        gathered: dict[int, list[Finding]] = {}
        for index, finding in enumerate(self.findings):
            root = self._root(index)
            gathered.setdefault(root, [])
            if root != index:
                gathered[root].append(finding)
        return tuple(Chapter(self.findings[root], tuple(gathered[root])) for root in sorted(gathered))

    def cause_index(self, index: int) -> int | None:
        """Where the finding that explains this one stands, or None."""
        name = self.findings[index].symptom_of
        for position, candidate in enumerate(self.findings):
            if candidate.name == name and position != index:
                return position
        return None

    def _root(self, index: int) -> int:
        path = [index]
        while (cause := self.cause_index(path[-1])) is not None:
            if cause in path:  # checks that explain each other: the one ranked first leads
                return min(path[path.index(cause) :])
            path.append(cause)
        return path[-1]
