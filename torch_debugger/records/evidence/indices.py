"""Integer tensors that were used as indices, against the sizes they index."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.layer import LayerFact
from torch_debugger.records.training import LocalTensor


@dataclass(frozen=True, slots=True)
class IndexEvidence:
    """One lookup with values out of range: which values, where they stand, what would have been allowed."""

    operation: str  # embedding, cross_entropy, gather, one_hot, ...; [] for square brackets
    indices: LocalTensor  # under the user's own expression where that is known; a plain number has no shape
    size: int  # how many there are to choose from
    allowed: int  # the lowest value that is allowed: 0, or -size where one may count from the end
    count: int  # values out of range
    total: int  # values looked at, without those that are ignored
    values: tuple[int, ...]  # the first few out of range, in their order
    positions: tuple[tuple[int, ...], ...]  # and where they stand
    lowest: int  # of all values looked at
    highest: int
    distinct: int  # different values looked at
    counts_up: bool  # 0, 1, 2, ... along the last dimension: positions of a sequence
    table: LocalTensor | None = None  # what was indexed
    dimension: int | None = None
    ignored: int | None = None  # the label that does not count
    expression: str = ""  # the user's expression that raised, where it is not a call of a layer
    scores_from: LayerFact | None = None  # for labels: the layer that made the scores
