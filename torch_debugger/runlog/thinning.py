"""What a log keeps as it fills: all, then every second of a series, then every fourth, ..."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable

from torch_debugger.records import CrashFact, EndFact, HangFact, Record, Scalars, Summary, TensorRows
from torch_debugger.runlog.points import Point

NO_LIMIT = sys.maxsize
CURVES, OTHERS = 0, 1  # each has half of the room: the others come early, and would leave nothing to curves
_END_PART = 20  # of the room that is for how the run ends
_THINS_FROM, _DOUBLES_EVERY = 0.5, 0.025  # of what a share has: from then on, and so often
_MOST_DOUBLINGS = 16
_WHOLE = 100  # records of a kind that are kept whatever the stride: they say what the rest is about
_ENDINGS = (EndFact, CrashFact, HangFact)


class _Share:
    __slots__ = ("expected_bytes", "stride", "used_bytes")

    def __init__(self) -> None:
        self.used_bytes = self.expected_bytes = 0  # written; kept, and not yet encoded
        self.stride = 1


class Thinning:
    """Each time a share has used as much again, the stride between those kept of a series doubles, so that
    every doubling of the steps has about as many of them, however long a run is, and the log never reaches its
    limit. The first of each is kept: it may carry a heading. The last is held, for the end."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._share_bytes = (limit_bytes - limit_bytes // _END_PART) // 2
        self._shares = (_Share(), _Share())
        self._seen: Counter[Hashable] = Counter()
        self._held: dict[Hashable, Scalars] = {}
        self._last_steps: dict[str, int] = {}  # that were kept, of each curve
        self._held_points: dict[str, Point] = {}
        self._is_stopped = False
        self.is_full = False  # something was left out that a longer stride would not have

    @property
    def stride(self) -> int:
        return max(share.stride for share in self._shares)

    def used_bytes(self) -> int:
        return sum(share.used_bytes for share in self._shares)

    def stop(self) -> None:
        """The disk is nearly full: nothing more but how the run ends."""
        self._is_stopped = True

    def keeps(self, record: Record) -> bool:
        if isinstance(record, _ENDINGS) or self._takes_all:
            return True
        series, share = _series_of(record), self._shares[lane_of(record)]
        is_next = self._is_next(series, share)
        if not is_next and not isinstance(record, (Scalars, Summary, TensorRows)):
            is_next = self._seen[series] <= _WHOLE
        is_kept = is_next and self._has_room(share, _size_of(record))
        if isinstance(record, Scalars):
            self._held.pop(series, None)
            if is_kept:
                self._last_steps.update(dict.fromkeys(record.values, record.step))
            else:
                self._held[series] = record
        return is_kept

    def keeps_point(self, point: Point) -> bool:
        if self._takes_all:
            return True
        tag, share = point[0], self._shares[CURVES]
        size_bytes = 60 + (len(tag) if isinstance(tag, str) else 0)
        is_kept = self._is_next(tag, share) and self._has_room(share, size_bytes)
        self._held_points.pop(tag, None)
        if not is_kept:
            self._held_points[tag] = point
        return is_kept

    def held(self) -> list[Scalars]:
        """Where each curve ends, as far as that was not kept, once."""
        newest_first = sorted(self._held.values(), key=lambda record: -record.step)
        self._held.clear()
        ends = []
        for record in newest_first:
            last = {tag: value for tag, value in record.values.items() if self._is_after(record.step, tag)}
            self._last_steps.update(dict.fromkeys(last, record.step))
            ends += [Scalars(record.step, record.time, last)] if last else []
        return ends[::-1]

    def held_points(self) -> list[Point]:
        held = sorted(self._held_points.values(), key=lambda point: point[2])
        self._held_points.clear()
        return held

    def takes(self, lane: int, size_bytes: int, *, at_end: bool = False) -> bool:
        """Whether there is room for this; then it is counted as written."""
        share = self._shares[lane]
        share.expected_bytes = 0
        room_bytes = self._limit_bytes - self.used_bytes() if at_end else self._share_bytes - share.used_bytes
        if size_bytes > room_bytes or (self._is_stopped and not at_end):
            self.is_full = True
            return False
        share.used_bytes += size_bytes
        return True

    def count(self, size_bytes: int) -> None:
        """Of what must be written, whatever the room."""
        self._shares[OTHERS].used_bytes += size_bytes

    def says(self) -> str:
        return (
            f"To stay below its limit of {self._limit_bytes / 1e6:.3g} MB the log keeps, from here on, fewer "
            "points of each curve, rows of statistics and pictures. Raise --log-limit to keep more."
        )

    @property
    def _takes_all(self) -> bool:
        return self._limit_bytes == NO_LIMIT and not self._is_stopped

    def _is_next(self, series: Hashable, share: _Share) -> bool:
        count = self._seen[series]
        self._seen[series] += 1
        return count % share.stride == 0

    def _is_after(self, step: int, tag: str) -> bool:
        return step > self._last_steps.get(tag, -1)

    def _has_room(self, share: _Share, size_bytes: int) -> bool:
        used_bytes = share.used_bytes + share.expected_bytes + size_bytes
        if self._is_stopped or used_bytes > self._share_bytes:
            self.is_full = True
            return False
        share.expected_bytes += size_bytes
        part = used_bytes / self._share_bytes
        if part >= _THINS_FROM:
            doublings = 1 + int((part - _THINS_FROM) / _DOUBLES_EVERY)
            share.stride = max(share.stride, 2 ** min(_MOST_DOUBLINGS, doublings))
        return True


def lane_of(record: Record) -> int:
    return CURVES if isinstance(record, Scalars) else OTHERS


def is_of_the_end(record: Record) -> bool:
    return isinstance(record, _ENDINGS)


def _series_of(record: Record) -> Hashable:
    if isinstance(record, Scalars):
        return tuple(record.values)
    if isinstance(record, Summary):
        return type(record), record.tag
    return record.table if isinstance(record, TensorRows) else type(record).__name__


def _size_of(record: Record) -> int:
    """About, for most; of what is large it is known."""
    if isinstance(record, Scalars):
        return 40 + sum(map(len, record.values)) + 12 * len(record.values)
    return 400 + (record.values.nbytes if isinstance(record, TensorRows) else getattr(record, "nbytes", 0))
