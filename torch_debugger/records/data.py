"""Facts of the data: what loaders deliver, what goes into the first layer, what the loss compares with."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class TensorLook:
    """One tensor of a batch. `samples` holds a digest for each of its first samples."""

    name: str  # batch[0], batch["labels"]
    shape: tuple[int, ...]
    dtype: str
    samples: tuple[int, ...]  # empty for labels
    labels: tuple[int, ...] = ()  # the first ones of a tensor of whole numbers, one for each sample
    std: float = 0.0  # of the numbers that were looked at
    lowest: int = 0  # of all labels of the batch
    highest: int = 0
    varied: bool = False  # nearly all of its numbers differ: two equal samples are one


@dataclass(frozen=True, slots=True)
class BatchLook:
    """A batch that a DataLoader delivered: the first ones of every loader, later those of deep steps."""

    loader: int  # LoaderFact.number
    iteration: int  # the how-manieth iter(loader), from 1
    index: int  # of the batch in this iteration, from 0
    trained: bool  # a backward() was called before the next batch came
    tensors: tuple[TensorLook, ...]
    step: int


@dataclass(frozen=True, slots=True)
class InputLook:
    """Data as it reaches a layer that learns, with no other such layer before it (deep steps)."""

    layer: str  # net.conv1
    kind: str  # Conv2d
    shape: tuple[int, ...]
    dtype: str
    viewed: tuple[int, ...]  # the shape of the tensor that it is a view of in the same order; else empty
    minimum: float
    maximum: float
    mean: float
    std: float
    column: int  # of a table: the one with the largest values, else -1
    column_rms: float  # root of the mean square in it
    samples: tuple[int, ...]  # as in TensorLook; empty on a device
    call: Place  # the line that calls the model
    step: int
    viewed_at: Place = field(default_factory=Place)  # the call of view() or reshape(), if it can be told
    tensors: int = 1  # that the model was given in all
    repeated_at: Place = field(default_factory=Place)  # where all samples are equal: a line with [row] * n
    measured: int = 0  # how many of its numbers these were taken of; 0: not known
    not_finite: int | None = None  # among those; None: not counted


@dataclass(frozen=True, slots=True)
class RootInput:
    """The numbers that a model was given, in training (on deep steps) and where no gradient is wanted."""

    root: str
    trained: bool
    shape: tuple[int, ...]
    mean: float
    std: float
    call: Place  # the line that calls the model
    step: int


@dataclass(frozen=True, slots=True)
class TargetLook:
    """What a loss function compares the model with (deep steps and a few others)."""

    site: str  # LossSite.name
    op: str  # NllLoss, BinaryCrossEntropyWithLogits
    shape: tuple[int, ...]
    dtype: str
    labels: dict[str, int]  # class -> how often; empty where there are no classes
    copied_to: tuple[int, ...]  # on deep steps: columns of the first layer's input that equal the target
    step: int
    made: Place = field(default_factory=Place)  # the line that computes the loss


@dataclass(frozen=True, slots=True)
class ShuffledPair:
    """Two arrays that the source reads side by side, of which a line puts one into an order of its own."""

    first: str  # x
    second: str  # y
    both: bool  # each has an order of its own; else only the first was shuffled
    place: Place  # the line that shuffles, or reads the second
    step: int
    index: str = ""  # the first is read with this shuffled index, and the second is not


@dataclass(frozen=True, slots=True)
class CopiedGenerator:
    """A random generator that a dataset keeps and draws from, in a loader that copies it into its workers."""

    loader: int  # LoaderFact.number
    workers: int
    owner: str  # the class that keeps it
    attribute: str
    kind: str  # Generator, RandomState, Random
    place: Place  # the line that makes it
    drawn: Place  # the first line that draws from it
    step: int


@dataclass(frozen=True, slots=True)
class FixedDraw:
    """A function of the user's that the training loop calls, and that starts from one seed at every call."""

    function: str  # get_batch
    each: str  # step: it draws a batch | epoch: it draws an order
    seed: Place  # the line that seeds
    call: Place  # the line that calls it
    step: int
