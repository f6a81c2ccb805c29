"""What a pre-flight tried on purpose, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place

TRIALS = (
    "initial loss", "every parameter gets a gradient", "input is used", "batch independence", "determinism",
    "overfit one batch", "zero-input baseline", "shuffled-label baseline", "train/eval consistency",
    "learning-rate range", "GPU rehearsal", "peak memory",
)  # in their order  # fmt: skip


@dataclass(frozen=True, slots=True)
class CaseFact:
    """What the trials of a pre-flight are made with."""

    model: str  # net, or encoder and decoder
    parameters: int  # how many numbers it learns
    inputs: str  # float32 [32, 10]
    optimizer: str  # AdamW, lr 0.001; empty where there is none
    loss: float  # as the first step has it
    place: Place = field(default_factory=Place)  # the line that computes it


@dataclass(frozen=True, slots=True)
class TrialResult:
    name: str  # overfit one batch
    outcome: str  # passed | failed | untried
    message: str  # one sentence with its numbers; of an untried one, the reason
    advice: str = ""  # what to do about it
    numbers: dict[str, float] = field(default_factory=dict)
    curve: tuple[float, ...] = ()  # the losses, step by step
    rates: tuple[float, ...] = ()  # the learning rate of each of them, where it changes
