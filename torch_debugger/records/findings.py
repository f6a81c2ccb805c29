"""A judgement, and the wish for a closer look that may come with it."""

from __future__ import annotations

from torch_debugger.records.base import BaseRecord, field

SEVERITIES = ("note", "warning", "error")


class Request(BaseRecord, frozen=True):
    """The one message that travels upstream: look closely for some steps."""

    steps: int
    modules: tuple[str, ...] = ()
    reason: str = ""
    profile: bool = False  # where the time of these steps goes, by torch's profiler


class Edit(BaseRecord, frozen=True):
    """The change to make, as lines: what stands there and what should."""

    file: str
    line: int
    before: str
    after: str  # several lines joined by newlines; indentation as in the file


class Finding(BaseRecord, frozen=True):
    check: str  # TD101
    name: str  # missing-zero-grad
    severity: str  # error | warning | note
    confidence: float
    message: str  # one sentence: where, what, how much, since when
    why: str
    fix: str
    where: Place
    first_step: int
    last_step: int
    evidence: dict[str, float | str] = field(default_factory=dict)
    status: str = "stable"
    edit: Edit | None = None
    request: Request | None = None
    symptom_of: str | None = None  # the name of the finding that explains this one
    ranks: tuple[int, ...] = ()  # of a distributed run: on which it was made

    @property
    def key(self) -> tuple[str, str]:
        """Findings with one key are one finding, seen again."""
        place = self.where.module or f"{self.where.file}:{self.where.line}"
        return self.check, place


# Where something is: in the user's files, and in the user's model.
class Place(BaseRecord, frozen=True):
    """A line of the user's code and, where one is known, the module path it belongs to."""

    file: str | None = None
    line: int | None = None
    module: str | None = None
    code: str | None = None  # the source line itself, stripped

    def __bool__(self) -> bool:
        return self.file is not None or self.module is not None


# What a comparison of two runs found: plain facts, for the report to put into words.

# In the order of a training step; `weights` are those that the step begins with.
PHASES = (
    "weights", "batch", "input", "forward", "loss", "backward", "gradients", "rate", "update", "evaluation",
)  # fmt: skip


class Difference(BaseRecord, frozen=True):
    """One thing that is not the same in both runs. An empty text: that run has none."""

    name: str
    first: str
    second: str


class Topic(BaseRecord, frozen=True):
    """All that was compared under one heading."""

    name: str  # settings | optimizer | code | environment | data | model | outcome
    differences: tuple[Difference, ...] = ()
    lines: tuple[str, ...] = ()  # of a unified diff
    unseen: str = ""  # what could not be compared, and why


class Gap(BaseRecord, frozen=True):
    """A number of one tensor at one step, as each run has it."""

    step: int
    phase: str
    name: str  # in the first run
    other_name: str  # in the second
    number: str  # std, weight_norm, digest; empty for a scalar
    first: float
    second: float
    size: float  # of the difference, as a share of the tensor's own size; Inf where one is not finite
    tolerance: float  # what rounding explains at this point


class Extent(BaseRecord, frozen=True):
    """The steps of which a run has any number."""

    steps: int
    first: int
    last: int


class Parting(BaseRecord, frozen=True):
    """Where two runs part, if they do."""

    verdict: str  # same | rounding | parted | unseen
    steps: int  # that both have
    first_step: int = 0  # of those
    last_step: int = 0
    numbers: int = 0  # compared in all
    unequal: Gap | None = None  # the first number that is not bit-equal
    gap: Gap | None = None  # the first one beyond what rounding explains
    largest: Gap | None = None  # within what rounding explains
    harmless: Gap | None = None  # a batch that differs, and of which the model is given the same
    idle: Gap | None = None  # weights or updates that differ by more, without a trace in what the model computes
    equal_phases: tuple[str, ...] = ()  # of the gap's step: seen in both runs, and equal as far as rounding goes
    last_equal: str = ""  # the tensor before the gap's, in the order of execution
    near_step: int = 0  # the last step before the gap of which both runs have a close look; 0: none
    calm_step: int = 0  # the last step before it that had nothing beyond rounding
    kept_step: int = 0  # the next step, if the weights that it begins with are equal all the same
    exact: bool = True  # all that comes before the gap was seen in both runs
    extents: tuple[Extent, ...] = ()  # of the first run and of the second


class Cause(BaseRecord, frozen=True):
    """What the structure of a parting tells about its reason."""

    sentence: str
    points: tuple[Difference, ...] = ()  # differences of the runs that fit
    check: str = ""  # what to look at where none does


class Noise(BaseRecord, frozen=True):
    """A number that the runs end with, and how far apart runs of one kind end."""

    tag: str  # loss, eval/accuracy
    first: tuple[float, ...]  # the first run, then its replicates
    second: tuple[float, ...]
    difference: float  # of the means
    spread: float  # standard deviation within runs of one kind; NaN with no replicates
    chance: float  # of a difference this large if only seeds differed
    steps: tuple[int, int] = (0, 0)  # the window over which a curve was averaged


class Suspect(BaseRecord, frozen=True):
    """A finding that only one of the runs has, from the step at which they part or before."""

    run: str
    other: str
    finding: Finding


class RunsComparison(BaseRecord, frozen=True):
    first: str  # how the report calls them
    second: str
    parting: Parting
    cause: Cause | None
    topics: tuple[Topic, ...]
    noise: tuple[Noise, ...] = ()
    groups: tuple[tuple[str, str], ...] = ()  # (replicate, first | second | both)
    renamed: tuple[tuple[str, str], ...] = ()  # modules and parameters matched by order and shape
    unmatched: tuple[tuple[str, str], ...] = ()  # (name, first | second)
    advice: str = ""  # a command that would tell more
    missing: tuple[str, ...] = ()  # sentences: what of the logs cannot be read
    verdicts: tuple[tuple[str, Finding | None], ...] = ()  # of each run that was watched
    suspect: Suspect | None = None
    unwatched: tuple[str, ...] = ()  # the runs of which there is no more than what a SummaryWriter was given
