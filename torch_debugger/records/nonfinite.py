"""A NaN or Inf: where it showed, and what a closer look says of its origin."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class Operand:
    """What went into an op. `low` and `high` are of the finite values, 0 where there are none."""

    name: str  # as the user's line calls it: p, self.scale; empty where it has no name
    dtype: str  # float32
    shape: tuple[int, ...]
    low: float = 0.0
    high: float = 0.0
    zeros: int = 0
    negatives: int = 0
    nans: int = 0
    infs: int = 0  # of both signs
    limit: float = 0.0  # the largest finite number of the dtype; 0 for integers
    elements: int = 0
    parameter: str = ""  # net.fc.weight, where it is one


@dataclass(frozen=True, slots=True)
class Origin:
    """Where something not finite was made."""

    # forward (in a model) | loss (outside of one) | backward | input (it came in with the data) | weights
    phase: str
    module: str | None  # the innermost module at work
    op: str | None  # as the user wrote it: log, div, softmax, normalize
    place: Place = field(default_factory=Place)  # the user's line
    operands: tuple[Operand, ...] = ()
    inner: str = ""  # the op of torch's own inside that one which made it: div inside normalize
    arguments: tuple[str, ...] = ()  # what else it was given: -0.5 of x.pow(-0.5), dim=1
    made: str = ""  # nan | inf | -inf, what came out first
    into_nan: str = ""  # the op that later made NaN of the Inf
    into_nan_place: Place = field(default_factory=Place)
    selected_by: str = ""  # backward: the op (where, masked_fill) that left this one's bad values out
    masked_row: bool = False  # an operand has a row that is -inf as a whole
    given: str = ""  # input: the tensor it came in with, as the user calls it
    rows: tuple[int, ...] = ()  # input: the rows of the batch that hold it (the first ten)
    samples: tuple[int, ...] = ()  # input: the samples of the dataset that hold it (the first ten)


@dataclass(frozen=True, slots=True)
class NonFinite:
    """The first NaN or Inf of the run, and what the step's evidence says of its origin."""

    step: int  # 0 where no steps are counted
    # loss | gradient | weight | result (of a piece of code without a backward) | value (refused by the script)
    what: str
    value: str  # nan | inf | -inf
    site: Place  # the backward() call; of an update, the step() call
    origin: Origin | None = None
    parameters: tuple[str, ...] = ()  # parameters, or their gradients, not finite at that time
    # step (the user's lines ran again) | model (its forward ran again) | graph (read off the autograd graph)
    # | late (seen steps later on the device, nothing could run again) | anomaly (torch's anomaly mode named it)
    # | "" (nothing found)
    how: str = ""
    scaled: bool = False  # a GradScaler is at work: gradients that are Inf are its daily bread
    optimizer: str = ""  # the name of the optimizer that holds the parameters
    update: dict[str, float] = field(default_factory=dict)  # of that optimizer: lr, eps, for a bad update
    gradients_seen: bool = True  # all those of the update that made the weights so; else it may have been they
    # what was done about it: report | stop | break | skip-step | anomaly (torch's anomaly mode ended it)
    # | detect_anomaly (ours did)
    policy: str = "report"


@dataclass(frozen=True, slots=True)
class NonFiniteOutput:
    """A model gave NaN in a script that had trained nothing by then."""

    model: str  # the user's name for it
    kind: str
    call: int  # which of its calls, from 1
    bad_rows: int  # samples with a NaN in its output; 0 where it was seen too late to be counted
    rows: int
    everywhere: bool  # of each sample every place has one: a row of features of a sequence
    training: bool  # the mode it was in
    fact: NonFinite


@dataclass(frozen=True, slots=True)
class UntrainedModel:
    """A model that was called in a script without a backward, said at its end."""

    model: str
    kind: str
    calls: int
    looks: int  # of those, whose output was looked at
    place: Place  # of the first call
