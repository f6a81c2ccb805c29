"""Facts about the run as a whole: how it began, what was counted, how it ended."""

from __future__ import annotations

from typing import Any

from torch_debugger.records.base import BaseRecord, field, to_plain
from torch_debugger.records.findings import Finding, Place
from torch_debugger.records.training import Rehearsal


class RunFact(BaseRecord, frozen=True):
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


class EndFact(BaseRecord, frozen=True):
    """How the script ended, as seen from inside. Missing when the process was killed."""

    outcome: str  # finished | crashed | stopped
    steps: int
    counted: str  # what a step is here: "optimizer steps", "backward passes", ...


class CostFact(BaseRecord, frozen=True):
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


class ProbeFault(BaseRecord, frozen=True):
    """A probe of ours failed and took itself off; the training went on without it."""

    probe: str
    error: str
    step: int


class Notice(BaseRecord, frozen=True):
    """Something the reader of the report should know that is no finding (rows thinned, ...)."""

    text: str
    step: int


class MemoryFact(BaseRecord, frozen=True):
    """Memory of the process and of its accelerator, in bytes."""

    resident_bytes: int
    peak_bytes: int
    device_bytes: int  # 0 without an accelerator
    device_peak_bytes: int
    step: int


# What a stranger needs to know of a run later: how it was started, from which code, on what, with what.
HparamValue = bool | int | float | str


class Surroundings(BaseRecord, frozen=True):
    """The program and the machine around a run. Keys, tokens and passwords are left out before it is made."""

    command: tuple[str, ...]  # as typed
    script: str  # its path
    script_hash: str  # sha256 of its text
    source: str  # its text; empty where it is too long or cannot be read
    git_commit: str = ""  # all of git's are empty outside a repository
    git_branch: str = ""
    git_dirty: bool | None = False  # None: git could not be asked
    git_diff: str = ""  # against the commit, up to a size
    packages: dict[str, str] = field(default_factory=dict)  # name -> version
    hardware: dict[str, str] = field(default_factory=dict)  # cpu, memory, gpu, ...
    environment: dict[str, str] = field(default_factory=dict)  # the variables that change a training
    system: dict[str, str] = field(default_factory=dict)  # os, machine, python, implementation, host
    rank: int = 0
    world_size: int = 1


class HparamsFact(BaseRecord, frozen=True):
    """Hyperparameters found in the script's own objects: a parsed command line, a config."""

    values: dict[str, HparamValue]
    origin: str  # the variable: args, cfg
    step: int


class SeedFact(BaseRecord, frozen=True):
    """The seeds that the random generators began with, where they can be told: torch, numpy, python."""

    seeds: dict[str, int]
    step: int


# What a pre-flight tried on purpose, and what came of it.
TRIALS = (
    "initial loss", "every parameter gets a gradient", "input is used", "batch independence", "determinism",
    "overfit one batch", "zero-input baseline", "shuffled-label baseline", "train/eval consistency",
    "learning-rate range", "GPU rehearsal", "peak memory",
)  # in their order  # fmt: skip


class CaseFact(BaseRecord, frozen=True):
    """What the trials of a pre-flight are made with."""

    model: str  # net, or encoder and decoder
    parameters: int  # how many numbers it learns
    inputs: str  # float32 [32, 10]
    optimizer: str  # AdamW, lr 0.001; empty where there is none
    loss: float  # as the first step has it
    place: Place = Place()  # the line that computes it


class TrialResult(BaseRecord, frozen=True):
    name: str  # overfit one batch
    outcome: str  # passed | failed | untried
    message: str  # one sentence with its numbers; of an untried one, the reason
    advice: str = ""  # what to do about it
    numbers: dict[str, float] = field(default_factory=dict)
    curve: tuple[float, ...] = ()  # the losses, step by step
    rates: tuple[float, ...] = ()  # the learning rate of each of them, where it changes


# A training step rehearsed for a GPU: the memory it would take, the batch that fits, and its device bugs.
CONTEXT_BYTES = 500 * 10**6  # that CUDA itself takes of the GPU's memory before the first tensor: about


class StepRehearsal(BaseRecord, frozen=True):
    """Bytes are those of torch.cuda.max_memory_allocated() and, reserved, of max_memory_reserved()."""

    model: str  # net, or encoder and decoder
    parameters: int  # how many numbers the model has
    optimizer: str  # AdamW; empty where there is none
    dtype: str  # float32, or what autocast was asked for
    batch: int  # samples in it; 0: that could not be told
    peak_bytes: int
    reserved_bytes: int
    by_category: dict[str, int]  # at the peak; together they are the peak
    by_module: dict[str, int] = field(default_factory=dict)  # activations kept for each, largest first
    phase: str = ""  # in which the peak is reached: forward | backward | optimizer step
    place: Place = Place()  # the line and the module of the peak
    accumulate: int = 1  # backwards before a step of the optimizer
    gpu: str = ""  # 24GB or h100, as it was asked for
    gpu_bytes: int = 0  # that it has; 0: not asked
    largest_batch: int | None = None  # that fits; None: not asked, or not known
    no_largest_batch: str = ""  # why it is not known
    on_real_data: bool = False  # the forward needs numbers, so the step ran on the CPU for it
    others: tuple[str, ...] = ()  # models that the script trains too, by other steps
    forward: Rehearsal | None = None  # the forward on a pretended GPU
    device_bugs: tuple[Finding, ...] = ()

    @property
    def needed_bytes(self) -> int:
        """Of a GPU's memory: what torch reserves there, and what CUDA itself takes."""
        return self.reserved_bytes + CONTEXT_BYTES

    @property
    def fits(self) -> bool | None:
        """None where no GPU was named."""
        return self.needed_bytes <= self.gpu_bytes if self.gpu_bytes else None

    @property
    def passed(self) -> bool:
        return self.fits is not False and not self.device_bugs

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON has them."""
        return {**to_plain(self), "needed_bytes": self.needed_bytes, "fits": self.fits}


# What a check of a custom autograd Function's gradient found.
class GradientCheckFact(BaseRecord, frozen=True):
    """A custom Function, checked once on copies of the inputs it met in training."""

    function: str  # Cube
    outcome: str  # right | wrong | deliberate | unchecked
    place: Place  # its backward
    step: int
    inputs: str = ""  # x [4, 5], weight [3, 5]
    input: str = ""  # the one with a wrong gradient; empty where nothing was compared
    element: str = ""  # x[2, 3]
    output_element: str = ""  # output[0, 1]
    analytical: float = 0.0
    numerical: float = 0.0
    relative_error: float = 0.0
    pattern: str = ""  # missing-factor
    words: str = ""  # what is wrong, or why it could not be checked
    advice: str = ""
    others: tuple[str, ...] = ()  # further inputs with a wrong gradient
    ended: bool = False  # the script's own gradcheck had found it and ended the script
