"""Points that a restarted run took back.

A writer that goes on from a checkpoint says so (SessionLog START, `purge_step` of a SummaryWriter): all
points of that step or later that stand before the mark are void, in this file and in those before it.
TensorBoard drops them, and so do we. Steps that go back without such a mark are kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NEVER = int(np.iinfo(np.int64).max)


def first_void(marks: list[tuple[int, int]]) -> int:
    """The step from which on everything before these marks is void."""
    return min((step for _, step in marks), default=NEVER)


def valid(
    places: NDArray[np.int64], steps: NDArray[np.int64], marks: list[tuple[int, int]], later: int
) -> NDArray[np.bool_]:
    """Which points still hold. `marks` are the (place, step) of their own file, in order; `later` is the
    first void step by the files behind it."""
    limits = np.array([step for _, step in marks] + [later], np.int64)
    # At each mark: the lowest step that it or any later one takes back.
    lowest = np.minimum.accumulate(limits[::-1])[::-1]
    behind = np.searchsorted(np.array([place for place, _ in marks], np.int64), places, side="right")
    limit = lowest[behind]
    answer: NDArray[np.bool_] = (steps < limit) | (limit == NEVER)
    return answer
