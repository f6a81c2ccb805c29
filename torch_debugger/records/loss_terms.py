"""What the loss functions in a loss compared: both sides in numbers, as autograd saved them on a deep step."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class Spread:
    """The numbers of one side, of a sample where there are many."""

    lowest: float
    highest: float
    mean: float
    std: float


@dataclass(frozen=True, slots=True)
class Comparison:
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


@dataclass(frozen=True, slots=True)
class ClassTargets:
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


@dataclass(frozen=True, slots=True)
class TokenTargets:
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


@dataclass(frozen=True, slots=True)
class SkippedLosses:
    """Losses that were not finite and that the script went past without a backward(), counted so far."""

    name: str  # the variable
    count: int
    step: int
    place: Place  # the line that asks, else the one that calls the model
