"""Stretches of time, one after the other: what they cover, and where two of them overlap."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

Interval = tuple[int, int]  # from, to; nanoseconds


def joined(intervals: Iterable[Interval]) -> list[Interval]:
    """Sorted and without overlaps."""
    found: list[Interval] = []
    for began, ended in sorted(intervals):
        if found and began <= found[-1][1]:
            if ended > found[-1][1]:
                found[-1] = found[-1][0], ended
        elif ended > began:
            found.append((began, ended))
    return found


class Cover:
    """The time that some intervals cover together."""

    def __init__(self, intervals: Iterable[Interval] = ()) -> None:
        self.intervals = joined(intervals)
        self._begins = [began for began, _ in self.intervals]
        self._ends = [ended for _, ended in self.intervals]
        self._sums = [0, *accumulate(ended - began for began, ended in self.intervals)]

    def with_(self, more: Iterable[Interval]) -> Cover:
        return Cover([*self.intervals, *more])

    @property
    def total_ns(self) -> int:
        return self._sums[-1]

    def within(self, began: int, ended: int) -> int:
        """Of this stretch, the part that is covered."""
        first, last = bisect_right(self._ends, began), bisect_left(self._begins, ended)
        if first >= last:
            return 0
        covered = self._sums[last] - self._sums[first]
        covered -= max(0, began - self._begins[first])
        return covered - max(0, self._ends[last - 1] - ended)
