"""What a report needs beside the findings, gathered as the records go by."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterable, Sequence

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
from torch_debugger.report.exits import outcome_of_exit
from torch_debugger.report.result import Losses, RunResult

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
        self.losses: Losses | None = None
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
        self.memory[record.device] = dataclasses.replace(
            fullest, peak_bytes=max(record.peak_bytes, fullest.peak_bytes)
        )

    def _see_scalars(self, record: Scalars) -> None:
        self.step = max(self.step, record.step)
        if "loss" not in record.values:
            return
        point = (record.step, record.values["loss"])
        first, lowest = (self.losses.first, self.losses.lowest) if self.losses else (point, None)
        if math.isfinite(point[1]) and (lowest is None or point[1] < lowest[1]):
            lowest = point
        self.losses = Losses(first, point, lowest)


def here() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # a working folder may be deleted under us
        return None
