"""Facts of sequences on their way through a model."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class PaddedState:
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


@dataclass(frozen=True, slots=True)
class SequenceInput:
    """What a layer was given that takes the first axis for time: a recurrent one, or attention (deep steps)."""

    layer: str  # net.lstm
    kind: str  # LSTM, MultiheadAttention
    shape: tuple[int, ...]
    fed: tuple[int, ...]  # the shape of the model's own first input
    call: Place  # the line that calls the layer
    step: int
