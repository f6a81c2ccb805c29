"""A torch layer, what it was built with, and the lines that build it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_debugger.records.base import BaseRecord, field
from torch_debugger.records.findings import Place
from torch_debugger.records.training import LocalTensor

if TYPE_CHECKING:
    import numpy.typing


class WrittenNumber(BaseRecord, frozen=True):
    """The one place of a file that gives a name its number."""

    name: str
    value: int
    place: Place
    text: str  # HIDDEN = 32, "hidden": 32, hidden=32
    uses: int  # how often the file reads the name


class Construction(BaseRecord, frozen=True):
    """How the user's source builds a module: the call, and the function it stands in."""

    place: Place  # the constructing lines, all of them
    maker: str = ""  # the user's function or class whose body holds them: double_conv
    scope: str = ""  # that function's source
    numbers: tuple[WrittenNumber, ...] = ()  # behind the names that the lines mention


class LayerFact(BaseRecord, frozen=True):
    """The torch layer that was running when the script crashed."""

    path: str | None  # net.fc1
    kind: str  # Linear
    settings: dict[str, int | float | str]  # in_features, out_features, kernel_size, ...
    place: Place  # the line that constructs it
    call: Place  # the user's line that called it
    inputs: tuple[LocalTensor, ...]
    parameters: tuple[LocalTensor, ...]
    constructions: tuple[Construction, ...] = ()  # of the layer, then of the modules around it
    ran_before: bool = False  # its parameters have gradients: it went through a forward and a backward
    user_class: str = ""  # the user's own subclass that it is: MaskedLinear
    user_arguments: tuple[str, ...] = ()  # what that class's own constructor takes


# How layers and loops fare on a deep step: what saturates, what is the same, what is kept too long.
class KeptGraphs(BaseRecord, frozen=True):
    """A variable of the user's that keeps the autograd graphs of earlier steps alive."""

    name: str  # losses, self.losses, history['loss'], total_loss
    form: str  # container | sum | chain: made of its own last value
    count: int  # tensors with a graph in it, additions in the graph of the sum, steps that the chain reaches back
    since: int  # the step at which its oldest tensor was first seen there; of a sum or a chain the first look
    scalar: bool  # its tensors have one element each
    place: Place  # the statement that adds to it
    added: str  # and what that adds: loss
    step: int


class TwinUnits(BaseRecord, frozen=True):
    """Weight matrices whose units are all alike before an update of a deep step."""

    optimizer: str
    step: int
    alike: tuple[str, ...]  # with gradients that are alike too: the update keeps them so
    silent: tuple[str, ...]  # with gradients of exactly zero
    matrices: int  # that the optimizer holds and that have gradients
    place: Place  # the line that fills them, if it can be told


class Squasher(BaseRecord, frozen=True):
    """A sigmoid or tanh between two layers, on one deep step."""

    source: str  # the layer that feeds it: net.fc1
    function: str  # sigmoid | tanh
    shape: tuple[int, ...]
    saturated: float  # share of its outputs that are next to its limits
    step: int


class BatchNormLook(BaseRecord, frozen=True):
    """Batch normalisation in training mode on one deep step: the batch beside what it keeps for evaluation."""

    name: str  # net.bn1
    shape: tuple[int, ...]  # of its output; channels come second
    gap: float  # distance of the kept means from the batch's, in deviations of the batch
    ratio: float  # kept variance / the batch's
    step: int
    biased: str = ""  # the layer in front whose bias goes nowhere but into this norm: net.conv1


class SampleSpread(BaseRecord, frozen=True):
    """Tensors [samples, features] that a model made, among the variables around a backward()."""

    names: tuple[str, ...]  # z1, z2
    directions: tuple[float, ...]  # how far the samples' directions differ: root of the mean square
    between: tuple[float, ...]  # and the samples themselves; 0: all are the same
    step: int


class LatentLook(BaseRecord, frozen=True):
    """The latent variables of a variational model on one look: how much they say about the samples."""

    source: str  # the layer that makes their means: vae.fc_mean
    size: int
    divergence: float  # KL to the standard normal, nats a sample
    between: float  # deviation of the means between samples
    step: int


class WeightedSum(BaseRecord, frozen=True):
    """A softmax whose weights add up to 1 over one dimension and are used in a sum over others."""

    shape: tuple[int, ...]  # of the softmax
    dim: int  # over which it is taken
    summed: tuple[int, ...]  # of its dimensions, those that the weighted values are added up over
    of_pairs: bool  # its scores are products of queries and keys
    samples_first: bool  # its first size is the number of samples in the loss
    place: Place  # the call of softmax, if it can be told
    step: int


# Many tensors, a few numbers each, at one step: the form in which layer health is kept.

# The columns of the tables whose kind ends in _spread: closer together towards both ends.
QUANTILES = (
    0.0, 0.005, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5,
    0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.995, 1.0,
)  # fmt: skip


class Table(BaseRecord, frozen=True):
    """The heading of a table of rows: written once, referred to by every row."""

    # activation | output_gradient | range (of float16 activations) | parameter | update
    # | activation_spread | weight_spread | gradient_spread
    kind: str
    root: str
    names: tuple[str, ...]  # in execution order where one is known
    columns: tuple[str, ...]
    dtypes: tuple[str, ...] = ()  # of each tensor, where their ranges matter: float16


class TensorRows(BaseRecord, frozen=True, eq=False):
    """One table filled at one step: values[tensor, column], float32, NaN where unknown."""

    step: int
    table: Table
    values: numpy.typing.NDArray[numpy.float32]

    def column(self, name: str) -> list[float]:
        index = self.table.columns.index(name)
        return [float(value) for value in self.values[:, index]]

    def by_name(self, column: str) -> dict[str, float]:
        return dict(zip(self.table.names, self.column(column), strict=True))


# A NaN or Inf: where it showed, and what a closer look says of its origin.
class Operand(BaseRecord, frozen=True):
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


class Origin(BaseRecord, frozen=True):
    """Where something not finite was made."""

    # forward (in a model) | loss (outside of one) | backward | input (it came in with the data) | weights
    phase: str
    module: str | None  # the innermost module at work
    op: str | None  # as the user wrote it: log, div, softmax, normalize
    place: Place = Place()  # the user's line
    operands: tuple[Operand, ...] = ()
    inner: str = ""  # the op of torch's own inside that one which made it: div inside normalize
    arguments: tuple[str, ...] = ()  # what else it was given: -0.5 of x.pow(-0.5), dim=1
    made: str = ""  # nan | inf | -inf, what came out first
    into_nan: str = ""  # the op that later made NaN of the Inf
    into_nan_place: Place = Place()
    selected_by: str = ""  # backward: the op (where, masked_fill) that left this one's bad values out
    masked_row: bool = False  # an operand has a row that is -inf as a whole
    given: str = ""  # input: the tensor it came in with, as the user calls it
    rows: tuple[int, ...] = ()  # input: the rows of the batch that hold it (the first ten)
    samples: tuple[int, ...] = ()  # input: the samples of the dataset that hold it (the first ten)


class NonFinite(BaseRecord, frozen=True):
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


class NonFiniteOutput(BaseRecord, frozen=True):
    """A model gave NaN in a script that had trained nothing by then."""

    model: str  # the user's name for it
    kind: str
    call: int  # which of its calls, from 1
    bad_rows: int  # samples with a NaN in its output; 0 where it was seen too late to be counted
    rows: int
    everywhere: bool  # of each sample every place has one: a row of features of a sequence
    training: bool  # the mode it was in
    fact: NonFinite


class UntrainedModel(BaseRecord, frozen=True):
    """A model that was called in a script without a backward, said at its end."""

    model: str
    kind: str
    calls: int
    looks: int  # of those, whose output was looked at
    place: Place  # of the first call


# Facts of attention: how scores become weights.
class MultipliedMask(BaseRecord, frozen=True):
    """Scores that were multiplied with a tensor of numbers right in front of a softmax (deep steps)."""

    shape: tuple[int, ...]  # of the scores
    binary: bool  # the numbers are 0 and 1, both of them
    zeros: float  # share of zeros
    again: bool  # the weights are multiplied with zeros and ones once more behind the softmax
    place: Place  # the line of the product, else of the softmax
    step: int


class AttentionByHand(BaseRecord, frozen=True):
    """softmax(q @ k^T) @ v op by op in the graph of a loss, its weights used for nothing else (deep steps)."""

    shape: tuple[int, ...]  # of the weights
    count: int  # of this shape in one forward
    has_dropout: bool  # on the weights
    kept_bytes: int  # of such squares, by all of them, for the backward
    names: tuple[str, str, str]  # of queries, keys and values in the source; empty where they are not plain
    place: Place  # the line of the softmax
    step: int


# Facts of sequences on their way through a model.
class PaddedState(BaseRecord, frozen=True):
    """A recurrent layer of which the loss sees only the state after the last step, and how its rows end."""

    layer: str  # net.rnn
    kind: str  # GRU
    used: str  # last step (of its output) | final state
    rows: int
    length: int
    tokens: bool  # the rows were read as tokens; else as vectors
    filled: bool  # most rows end in one and the same token or vector
    ended: float  # share of the rows that end in two of it or more
    in_tails: float  # share of all steps that are such an end
    elsewhere: float  # share of its places that are in no such end
    shortest: int  # of these ends, over the rows
    longest: int
    lengths: str  # the user's variable with a length for each row, if forward has one
    batch_first: bool
    call: Place  # the line that calls the layer
    taken: Place  # the line that takes the last step
    step: int


class SequenceInput(BaseRecord, frozen=True):
    """What a layer was given that takes the first axis for time: a recurrent one, or attention (deep steps)."""

    layer: str  # net.lstm
    kind: str  # LSTM, MultiheadAttention
    shape: tuple[int, ...]
    fed: tuple[int, ...]  # the shape of the model's own first input
    call: Place  # the line that calls the layer
    step: int
