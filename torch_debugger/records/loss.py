"""What the loss functions in a loss compared: both sides in numbers, as autograd saved them on a deep step."""

from __future__ import annotations

import math

from torch_debugger.records.base import BaseRecord
from torch_debugger.records.findings import Place


class Spread(BaseRecord, frozen=True):
    """The numbers of one side, of a sample where there are many."""

    lowest: float
    highest: float
    mean: float
    std: float


class Comparison(BaseRecord, frozen=True):
    """One loss over numbers: mean squared error, Huber, binary cross-entropy."""

    site: str  # LossSite.name
    step: int
    op: str  # MseLoss, BinaryCrossEntropyWithLogits
    made: Place  # the line that computes the loss, else the one that calls backward()
    shape: tuple[int, ...]
    prediction: Spread
    target: Spread
    below_minus_one: float  # shares of the targets
    below_zero: float
    above_one: float
    pos_weight: float = math.nan  # the one number given to binary cross-entropy


class ClassTargets(BaseRecord, frozen=True):
    """One negative log-likelihood: what it took for log-probabilities, and the classes it was told."""

    site: str
    step: int
    made: Place
    shape: tuple[int, ...]  # of the scores; classes come second
    reduction: str
    ignore_index: int
    lowest_sum: float  # of log(sum(exp(scores))) over the samples: 0 for log-probabilities
    highest_sum: float
    surprise: float  # mean of -score[target]
    counts: tuple[float, ...] = ()  # of each class in a sample of the targets, where they are few
    weights: tuple[float, ...] = ()  # of each class
    total: int = 0  # targets


class TokenTargets(BaseRecord, frozen=True):
    """The targets of a sequence model as rows of tokens."""

    site: str
    step: int
    made: Place
    rows: int
    length: int
    ignore_index: int
    last: int  # the token that ends most rows
    ended: float  # share of the rows that end with two of it or more
    in_tails: float  # share of all tokens that stand in such an end
    elsewhere: float  # share of that token's places that are in no such end
    shortest: int  # of these ends, over the rows
    longest: int
    weight: float  # that the loss gives to this token
    offset: int | None = None  # the input token at this distance is the target, in every place; None if none is
    embedding: str = ""  # the embedding that read those inputs
    padding: int | None = None  # its padding_idx


class SkippedLosses(BaseRecord, frozen=True):
    """Losses that were not finite and that the script went past without a backward(), counted so far."""

    name: str  # the variable
    count: int
    step: int
    place: Place  # the line that asks, else the one that calls the model


# Facts that the whole autograd graph of a loss shows on a deep step.
class DropoutLook(BaseRecord, frozen=True):
    """A dropout on the way to the loss, by its mask."""

    source: str  # the layer that feeds it: net.fc1
    share: float  # that is set to zero
    place: Place  # the first call of F.dropout in the model's classes, if there is one
    step: int


class AxesLook(BaseRecord, frozen=True):
    """A view() or reshape() in the model that reads a tensor as if its axes were in another order."""

    source: str  # the layer that made it: net.qkv
    form: str  # exchanged | heads split | heads merged
    before: tuple[int, ...]
    after: tuple[int, ...]
    place: Place  # the call
    step: int


class FutureLook(BaseRecord, frozen=True):
    """A model of the next token, and whether what it predicts from sees that very token."""

    tokens: str  # the embedding: model.tok
    length: int
    attentions: int  # over its own tokens, on the way to the loss
    seeing: int  # of them, those with weight on the next place
    place: Place  # the line that calls the first of them
    step: int
    layer: str = ""  # a recurrent one that also reads backwards, in place of attentions: lm.lstm


class ReusedWeight(BaseRecord, frozen=True):
    """A weight matrix that one forward uses again and again, as a recurrent cell does."""

    name: str  # net.rec.weight
    uses: int
    step: int


class HandMadeWeights(BaseRecord, frozen=True):
    """Weight matrices of no module, before the first update: as a script in functional style has them."""

    count: int
    spread: float  # the median of rms * sqrt(inputs): near 1 keeps a signal's size
    place: Place  # the call that draws them, if it can be told
    step: int


# What a variational model samples, beside what the divergence in its loss takes the same tensors for.

# What is made of a tensor before the noise is multiplied with it.
# Of which the first is right.
SAMPLING_ORDERS = ("mean + deviation * noise", "mean * deviation + noise", "deviation + mean * noise")
DEVIATION_FORMS = (
    "as it is", "half", "exp", "half of exp", "exp of half", "exp of twice", "exp of minus half", "square root",
    "square", "softplus", "sigmoid",
)  # fmt: skip


class FormFit(BaseRecord, frozen=True):
    """A gradient as `first` times one function plus `second` times another, and the share left over."""

    first: float
    second: float
    misfit: float


class DivergenceReading(BaseRecord, frozen=True):
    """A tensor that the deviation is made of, and what the divergence takes it for."""

    form: str  # log-variance | log-deviation | deviation | variance
    distance: int  # functions between what multiplies the noise and this tensor; 0: it is the same
    positive: bool  # whatever the layer gives, by exp() or softplus()
    fit: FormFit  # -1 times the first as the second, where it is that
    size: float  # of the deviation that it takes that for: root of the mean square
    used: tuple[float, ...]  # how far what multiplies the noise is from each of DEVIATION_FORMS, as a share


class NoiseLook(BaseRecord, frozen=True):
    mean: float
    deviation: float
    low: float
    high: float
    count: int


class WrittenSampling(BaseRecord, frozen=True):
    """How the sampling stands in the source."""

    place: Place = Place()  # mean + deviation * noise
    deviation: str = ""  # as it is written there, or where the function is called
    deviation_place: Place = Place()  # of that
    around: tuple[str, ...] = ()  # what stands before and behind it in that line
    noise: str = ""  # the call: torch.rand_like
    noise_place: Place = Place()
    parts: tuple[
        str, ...
    ] = ()  # of another order than the right one: mean, deviation, noise; `around` is that of the whole then


class LatentSampling(BaseRecord, frozen=True):
    """mean + deviation * noise on the way to a loss that also holds a divergence of mean and deviation."""

    source: str  # the layer that makes the mean: vae.fc_mean
    shape: tuple[int, ...]  # of the deviation
    order: str  # one of SAMPLING_ORDERS
    agreement: FormFit  # of the gradient with that of a KL divergence of what is sampled; 1 and -1 times its weight
    mean_factor: float  # of the mean in the divergence's gradient; its weight in a right one, nan: not known
    readings: tuple[DivergenceReading, ...]  # those that fit
    size: float  # of what multiplies the noise: root of the mean square
    noise: NoiseLook | None
    error_op: str  # of the reconstruction: MseLoss; empty where there is none of a known form
    error_weight: float  # of one number in it
    error_shape: tuple[int, ...]
    error_mean: bool  # a mean over all its numbers
    written: WrittenSampling
    divergence: Place  # the line that computes it, if there is one such line
    step: int
