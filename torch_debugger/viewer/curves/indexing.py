"""A curve made ready to be looked at in any range: its extremes are known block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BLOCK = 64  # points; a million of them are looked through as 16 thousand blocks

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Points by ascending x. Of each block: where its least and its greatest finite value are, and what its
    finite values add up to. A block without any finite value has its first point in their stead."""

    x: Floats
    y: Floats
    lowest: Places
    highest: Places
    sums: Floats
    counts: NDArray[np.int64]
    odd: Places  # the points that are not finite

    def __len__(self) -> int:
        return len(self.x)


def make_index(x: Floats, y: Floats) -> Index:
    x, y = _ascending(x, y)
    finite = np.isfinite(y)
    starts = np.arange(0, len(y), BLOCK)
    return Index(
        x,
        y,
        starts + _rows(np.where(finite, y, np.inf), np.inf).argmin(axis=1),
        starts + _rows(np.where(finite, y, -np.inf), -np.inf).argmax(axis=1),
        _rows(np.where(finite, y, 0.0), 0.0).sum(axis=1),
        _rows(finite.astype(np.float64), 0.0).sum(axis=1).astype(np.int64),
        np.flatnonzero(~finite),
    )


def _ascending(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    known = np.isfinite(x)
    if not known.all():
        x, y = x[known], y[known]
    if (np.diff(x) < 0).any():
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
    return x, y


def _rows(values: Floats, filling: float) -> Floats:
    whole = np.full(-(-len(values) // BLOCK) * BLOCK, filling)
    whole[: len(values)] = values
    return whole.reshape(-1, BLOCK)
