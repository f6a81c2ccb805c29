"""Facts of attention: how scores become weights."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class MultipliedMask:
    """Scores that were multiplied with a tensor of numbers right in front of a softmax (deep steps)."""

    shape: tuple[int, ...]  # of the scores
    binary: bool  # the numbers are 0 and 1, both of them
    zeros: float  # share of zeros
    again: bool  # the weights are multiplied with zeros and ones once more behind the softmax
    place: Place  # the line of the product, else of the softmax
    step: int


@dataclass(frozen=True, slots=True)
class AttentionByHand:
    """softmax(q @ k^T) @ v op by op in the graph of a loss, its weights used for nothing else (deep steps)."""

    shape: tuple[int, ...]  # of the weights
    count: int  # of this shape in one forward
    has_dropout: bool  # on the weights
    kept_bytes: int  # of such squares, by all of them, for the backward
    names: tuple[str, str, str]  # of queries, keys and values in the source; empty where they are not plain
    place: Place  # the line of the softmax
    step: int
