"""Records to the bytes of an event file, in the order in which they come."""

from __future__ import annotations

import operator
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from json import dumps
from typing import Any

import numpy as np

from torch_debugger.log.protobuf import (
    RECORD_TAG,
    ROWS_TAG,
    float_tensor,
    plugin_metadata,
    restart_event,
    string_tensor,
    tensor_event,
    text,
    version_event,
)
from torch_debugger.log.scalar_events import GivenTime, Point, encode_points, scalar_events
from torch_debugger.log.tfrecord import FRAME_BYTES, frame
from torch_debugger.records import (
    CrashFact,
    EndFact,
    HangFact,
    LoggedSummary,
    Notice,
    Record,
    Scalars,
    Table,
    TensorRows,
)
from torch_debugger.records.codec import to_plain
from torch_debugger.system.clocks import time
from torch_debugger.system.redaction import may_hold_secrets, redact_plain

_UNFIT = (TypeError, ValueError, OverflowError, AttributeError)  # what a record with values of a wrong kind raises

_NOTICES = RECORD_TAG + Notice.__name__


class Encoder:
    """What a log has been given so far: its tables, its size, and the headings that its last file has."""

    def __init__(self, limit_bytes: int, on_fault: Callable[[str], None]) -> None:
        self._on_fault = on_fault
        self._thinning = Thinning(limit_bytes)
        self._said_thinning = self._said_full = False
        self._tables: dict[Table, int] = {}
        self._headed: set[str] = set()  # tags whose heading stands in this file
        self._large: set[str] = set()  # tags with numbers that were too large
        self._last_step = 0

    def start(self, purge_step: int | None = None) -> bytes:
        """What every event file begins with. Headings come again: each file can be read alone."""
        self._headed.clear()
        purge = [] if purge_step is None else [restart_event(time.time(), purge_step)]
        head = frame([version_event(time.time()), *purge])
        self._thinning.count(len(head))
        return head

    def stop_at_a_full_disk(self, free_bytes: int) -> None:
        """From here on only what says how the run went and ended."""
        self._thinning.stop()
        self._said_full = True
        self._on_fault(
            "The log keeps no more curves, statistics and pictures: the disk has only "
            f"{free_bytes / 1e6:,.0f} MB left, which are for the training."
        )

    def encode(self, records: Sequence[Record]) -> bytes:
        kept = [record for record in records if self._thinning.keeps(record)]
        if records:
            self._last_step = getattr(records[-1], "step", self._last_step)
        payloads = self._say_if_it_thins()
        scalars = self._scalar_events([record for record in kept if isinstance(record, Scalars)])
        for record in kept:
            if isinstance(record, EndFact):
                payloads += self._last_events()
            events = next(scalars) if isinstance(record, Scalars) else self._tensor_events(record)
            if isinstance(record, _ENDINGS):
                self._thinning.count(_framed(events))
            elif not self._thinning.takes(lane_of(record), _framed(events)):
                continue
            self._headed.add(self._tag_of(record))
            payloads += events
        return frame(payloads)

    def encode_points(self, points: list[Point]) -> bytes:
        """May be called from several threads."""
        kept = [point for point in points if self._thinning.keeps_point(point)]
        notice = frame(self._say_if_it_thins())
        data = self._point_frames(kept)
        return notice + (data if self._thinning.takes(CURVES, len(data)) else b"")

    def encode_last(self) -> bytes:
        """Where the curves end, if that was not kept."""
        data = self._point_frames(self._thinning.held_points())
        last_events = frame(self._last_events())
        return last_events + (data if self._thinning.takes(CURVES, len(data), at_end=True) else b"")

    def _point_frames(self, points: Sequence[Point]) -> bytes:
        if not points:
            return b""
        try:
            return encode_points(points, self._tell_large)
        except _UNFIT:
            pass
        fit = []
        for tag, value, step, when in points:
            try:
                number = int(np.int64(operator.index(step)))
                time_s = when if isinstance(when, GivenTime) else float(when)
                fit.append((text(tag).decode(), float(value), number, time_s))
            except _UNFIT as error:
                self._on_fault(f"A scalar of the tag {tag!r} was left out of the log: {error}.")
        return encode_points(fit, self._tell_large)

    def _last_events(self) -> list[bytes]:
        events = [payload for each in self._scalar_events(self._thinning.held()) for payload in each]
        return [event for event in events if self._thinning.takes(CURVES, _framed([event]), at_end=True)]

    def _say_if_it_thins(self) -> list[bytes]:
        """Once, in the log and to the user."""
        if self._thinning.is_full and not self._said_full:
            self._said_full = True
            self._on_fault("The log is full: what comes now is left out. Raise --log-limit to keep more.")
        if self._said_thinning or self._thinning.stride == 1:
            return []
        self._said_thinning = True
        said = self._thinning.says()
        self._on_fault(said)
        events = self._record_events(Notice(said, self._last_step))
        self._thinning.count(_framed(events))
        self._headed.add(_NOTICES)
        return events

    def _scalar_events(self, records: list[Scalars]) -> Iterator[list[bytes]]:
        try:
            return iter([[payload] for payload in scalar_events(records, self._tell_large)])
        except _UNFIT:

            def one(record: Scalars) -> list[bytes]:
                return scalar_events([record], self._tell_large)

            return iter([self._unless_unfit(one, record) for record in records])

    def _tell_large(self, tag: str, value: float) -> None:
        if tag not in self._large:
            self._large.add(tag)
            limit, what = ("3.4e+38", "larger") if value > 0 else ("-3.4e+38", "smaller")
            self._on_fault(
                f"The log holds {limit} for numbers of the tag {tag!r} that are {what}, such as {value:g}: "
                "files of TensorBoard have no room for them."
            )

    def _tensor_events(self, record: Record) -> list[bytes]:
        if isinstance(record, LoggedSummary):
            return self._summary_events(record)
        make = self._rows_events if isinstance(record, TensorRows) else self._record_events
        return self._unless_unfit(make, record)

    def _unless_unfit(self, make: Callable[[Any], list[bytes]], record: Record) -> list[bytes]:
        try:
            return make(record)
        except _UNFIT as error:
            kind = type(record).__name__
            self._on_fault(f"A record of kind {kind} was left out of the log: {error}.")
            return []

    def _summary_events(self, record: LoggedSummary) -> list[bytes]:
        from torch_debugger.log.summary_events import summary_events  # Pillow is for those who log pictures

        try:
            return summary_events(record)
        except Exception as error:  # Pillow's are many, OSError among them; one picture must not end the log
            kind = type(record).__name__.removesuffix("Summary").lower()
            self._on_fault(f"The {kind} {record.tag!r} of step {record.step} is not in the log: {error!r}.")
            return []

    def _rows_events(self, rows: TensorRows) -> list[bytes]:
        tag = self._tag_of(rows)
        values = np.ascontiguousarray(rows.values, dtype="<f4")
        tensor = float_tensor(values.shape, values.tobytes())
        heading = b"" if tag in self._headed else plugin_metadata(_json(to_plain(rows.table)))
        return [tensor_event(time.time(), rows.step, tag, tensor, heading)]

    def _record_events(self, record: Record) -> list[bytes]:
        tag = self._tag_of(record)
        plain = to_plain(record)
        content = _json(plain)
        # The last door before the disk: whatever a record holds of the user's program passes through here. To search
        # packed numbers for secrets would hold up the training for ten milliseconds.
        if not getattr(record, "without_text", False) and may_hold_secrets(content.decode()):
            content = _json(redact_plain(plain))
        tensor = string_tensor(content)
        metadata = b"" if tag in self._headed else plugin_metadata()
        return [tensor_event(time.time(), getattr(record, "step", 0), tag, tensor, metadata)]

    def _tag_of(self, record: Record) -> str:
        if isinstance(record, TensorRows):
            return f"{ROWS_TAG}{self._tables.setdefault(record.table, len(self._tables))}"
        return RECORD_TAG + type(record).__name__


def _json(plain: Any) -> bytes:
    return dumps(plain, separators=(",", ":")).encode()


def _framed(events: Sequence[bytes]) -> int:
    return sum(map(len, events)) + FRAME_BYTES * len(events)


# What a log keeps as it fills: all, then every second of a series, then every fourth, ...
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
        self._left_out: dict[Hashable, Scalars] = {}
        self._last_steps: dict[str, int] = {}  # that were kept, of each curve
        self._left_out_points: dict[str, Point] = {}
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
        if not is_next and not isinstance(record, (Scalars, LoggedSummary, TensorRows)):
            is_next = self._seen[series] <= _WHOLE
        is_kept = is_next and self._has_room(share, _size_of(record))
        if isinstance(record, Scalars):
            self._left_out.pop(series, None)
            if is_kept:
                self._last_steps.update(dict.fromkeys(record.values, record.step))
            else:
                self._left_out[series] = record
        return is_kept

    def keeps_point(self, point: Point) -> bool:
        if self._takes_all:
            return True
        tag, share = point[0], self._shares[CURVES]
        size_bytes = 60 + (len(tag) if isinstance(tag, str) else 0)
        is_kept = self._is_next(tag, share) and self._has_room(share, size_bytes)
        self._left_out_points.pop(tag, None)
        if not is_kept:
            self._left_out_points[tag] = point
        return is_kept

    def held(self) -> list[Scalars]:
        """Where each curve ends, as far as that was not kept, once."""
        newest_first = sorted(self._left_out.values(), key=lambda record: -record.step)
        self._left_out.clear()
        ends = []
        for record in newest_first:
            kept = self._last_steps
            last = {tag: value for tag, value in record.values.items() if record.step > kept.get(tag, -1)}
            self._last_steps.update(dict.fromkeys(last, record.step))
            ends += [Scalars(record.step, record.time, last)] if last else []
        return ends[::-1]

    def held_points(self) -> list[Point]:
        points = sorted(self._left_out_points.values(), key=lambda point: point[2])
        self._left_out_points.clear()
        return points

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


def _series_of(record: Record) -> Hashable:
    if isinstance(record, Scalars):
        return tuple(record.values)
    if isinstance(record, LoggedSummary):
        return type(record), record.tag
    return record.table if isinstance(record, TensorRows) else type(record).__name__


def _size_of(record: Record) -> int:
    """About, for most; of what is large it is known."""
    if isinstance(record, Scalars):
        return 40 + sum(map(len, record.values)) + 12 * len(record.values)
    return 400 + (record.values.nbytes if isinstance(record, TensorRows) else getattr(record, "nbytes", 0))
