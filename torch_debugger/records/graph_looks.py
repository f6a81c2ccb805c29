"""Facts that the whole autograd graph of a loss shows on a deep step."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class DropoutLook:
    """A dropout on the way to the loss, by its mask."""

    source: str  # the layer that feeds it: net.fc1
    share: float  # that is set to zero
    place: Place  # the first call of F.dropout in the model's classes, if there is one
    step: int


@dataclass(frozen=True, slots=True)
class AxesLook:
    """A view() or reshape() in the model that reads a tensor as if its axes were in another order."""

    source: str  # the layer that made it: net.qkv
    form: str  # exchanged | heads split | heads merged
    before: tuple[int, ...]
    after: tuple[int, ...]
    place: Place  # the call
    step: int


@dataclass(frozen=True, slots=True)
class FutureLook:
    """A model of the next token, and whether what it predicts from sees that very token."""

    tokens: str  # the embedding: model.tok
    length: int
    attentions: int  # over its own tokens, on the way to the loss
    seeing: int  # of them, those with weight on the next place
    place: Place  # the line that calls the first of them
    step: int
    layer: str = ""  # a recurrent one that also reads backwards, in place of attentions: lm.lstm


@dataclass(frozen=True, slots=True)
class ReusedWeight:
    """A weight matrix that one forward uses again and again, as a recurrent cell does."""

    name: str  # net.rec.weight
    uses: int
    step: int


@dataclass(frozen=True, slots=True)
class HandMadeWeights:
    """Weight matrices of no module, before the first update: as a script in functional style has them."""

    count: int
    spread: float  # the median of rms * sqrt(inputs): near 1 keeps a signal's size
    place: Place  # the call that draws them, if it can be told
    step: int
