"""Facts about the run as a whole: how it began, what was counted, how it ended."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunFact:
    """How the run began. The first record of every log."""

    script: str
    arguments: tuple[str, ...]
    folder: str  # the working directory
    pid: int
    started: float  # seconds since the epoch
    python: str
    torch: str
    device: str  # "cpu", or the accelerator torch found
    debugger: str  # our version
    budget: float  # 0.02 means 2 % of the run's time
    names_accelerator: bool  # the script itself chooses or names one ("cuda" if available)


@dataclass(frozen=True, slots=True)
class EndFact:
    """How the script ended, as seen from inside. Missing when the process was killed."""

    outcome: str  # finished | crashed | stopped
    steps: int
    counted: str  # what a step is here: "optimizer steps", "backward passes", ...


@dataclass(frozen=True, slots=True)
class CostFact:
    """What watching has cost so far, by our own measurement; the last one of a run holds."""

    step: int
    spent_s: float
    elapsed_s: float
    budget: float
    light_steps: int
    deep_steps: int
    tracing_s: float = 0.0  # beside the rest: steps run again to find a cause

    @property
    def ratio(self) -> float:
        plain_s = self.elapsed_s - self.spent_s - self.tracing_s
        return 1.0 + self.spent_s / plain_s if plain_s > 0 else 1.0


@dataclass(frozen=True, slots=True)
class ProbeFault:
    """A probe of ours failed and took itself off; the training went on without it."""

    probe: str
    error: str
    step: int


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the reader of the report should know that is no finding (rows thinned, ...)."""

    text: str
    step: int


@dataclass(frozen=True, slots=True)
class MemoryFact:
    """Memory of the process and of its accelerator, in bytes."""

    resident_bytes: int
    peak_bytes: int
    device_bytes: int  # 0 without an accelerator
    device_peak_bytes: int
    step: int
