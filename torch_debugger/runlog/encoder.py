"""Records to the bytes of an event file, in the order in which they come."""

from __future__ import annotations

import dataclasses
import json
import operator
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from torch_debugger.records import Notice, Record, Scalars, Summary, Table, TensorRows
from torch_debugger.records.codec import to_plain
from torch_debugger.redaction import may_hold_secrets, redact_plain
from torch_debugger.runlog.events import (
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
from torch_debugger.runlog.frames import FRAME_BYTES, frame
from torch_debugger.runlog.points import GivenTime, Point, encode_points
from torch_debugger.runlog.scalars import scalar_events
from torch_debugger.runlog.thinning import Thinning

_UNFIT = (
    TypeError,
    ValueError,
    OverflowError,
    AttributeError,
)  # what a record with values of a wrong kind raises


class Encoder:
    """What a log has been given so far: its tables, its size, and the headings that its last file has."""

    def __init__(self, limit_bytes: int, on_fault: Callable[[str], None]) -> None:
        self._on_fault = on_fault
        self._thinning = Thinning(limit_bytes)
        self._tables: dict[Table, int] = {}
        self._headed: set[str] = set()  # tags whose heading stands in this file
        self._used_bytes = 0
        self._large: set[str] = set()  # tags with numbers that were too large

    def start(self, purge_step: int | None = None) -> bytes:
        """What every event file begins with. Headings come again: each file can be read alone."""
        self._headed.clear()
        purge = [] if purge_step is None else [restart_event(time.time(), purge_step)]
        return frame([version_event(time.time()), *purge])

    def encode(self, records: Sequence[Record]) -> bytes:
        scalars = self._scalar_events([record for record in records if isinstance(record, Scalars)])
        payloads: list[bytes] = []
        for record in records:
            for payload in next(scalars) if isinstance(record, Scalars) else self._tensor_events(record):
                self._used_bytes += len(payload) + FRAME_BYTES
                payloads.append(payload)
        return frame(payloads)

    def encode_points(self, points: list[Point]) -> bytes:
        """May be called from several threads."""
        try:
            data = encode_points(points, self._tell_large)
        except _UNFIT:
            data = self.encode_points(self._fit_points(points))
        self._used_bytes += len(data)
        return data

    def _fit_points(self, points: list[Point]) -> list[Point]:
        fit = []
        for tag, value, step, when in points:
            try:
                number = int(np.int64(operator.index(step)))
                fit.append((text(tag).decode(), float(value), number, _as_time(when)))
            except _UNFIT as error:
                self._on_fault(f"A scalar of the tag {tag!r} was left out of the log: {error}.")
        return fit

    def _scalar_events(self, records: list[Scalars]) -> Iterator[list[bytes]]:
        try:
            return iter([[payload] for payload in scalar_events(records, self._tell_large)])
        except _UNFIT:
            return iter([self._unless_unfit(self._scalar_event, record) for record in records])

    def _scalar_event(self, record: Scalars) -> list[bytes]:
        return scalar_events([record], self._tell_large)

    def _tell_large(self, tag: str, value: float) -> None:
        if tag not in self._large:
            self._large.add(tag)
            held, what = ("3.4e+38", "larger") if value > 0 else ("-3.4e+38", "smaller")
            self._on_fault(
                f"The log holds {held} for numbers of the tag {tag!r} that are {what}, such as {value:g}: "
                "files of TensorBoard have no room for them."
            )

    def _tensor_events(self, record: Record) -> list[bytes]:
        if isinstance(record, Summary):
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

    def _summary_events(self, record: Summary) -> list[bytes]:
        from torch_debugger.runlog.summaries import summary_events  # Pillow is for those who log pictures

        try:
            return summary_events(record)
        except Exception as error:  # Pillow's are many, OSError among them; one picture must not end the log
            kind = type(record).__name__.removesuffix("Summary").lower()
            self._on_fault(f"The {kind} {record.tag!r} of step {record.step} is not in the log: {error!r}.")
            return []

    def _rows_events(self, rows: TensorRows) -> list[bytes]:
        number = self._tables.get(rows.table, len(self._tables))
        said = self._thinning.update(self._used_bytes)
        notice = self._record_events(Notice(said, rows.step)) if said else []
        if not self._thinning.keep(number):
            return notice
        values = np.ascontiguousarray(rows.values, dtype="<f4")
        tensor = float_tensor(values.shape, values.tobytes())
        tag = f"{ROWS_TAG}{number}"
        heading = b"" if tag in self._headed else plugin_metadata(_json(dataclasses.asdict(rows.table)))
        event = tensor_event(time.time(), rows.step, tag, tensor, heading)
        self._tables[rows.table] = number
        self._headed.add(tag)
        return [*notice, event]

    def _record_events(self, record: Record) -> list[bytes]:
        tag = RECORD_TAG + type(record).__name__
        # To search packed numbers for secrets would hold up the training for ten milliseconds.
        write = _json if getattr(record, "without_text", False) else _json_without_secrets
        tensor = string_tensor(write(to_plain(record)))
        metadata = b"" if tag in self._headed else plugin_metadata()
        event = tensor_event(time.time(), getattr(record, "step", 0), tag, tensor, metadata)
        self._headed.add(tag)
        return [event]


def _as_time(when: float) -> float:
    return when if isinstance(when, GivenTime) else float(when)


def _json_without_secrets(plain: Any) -> bytes:
    """The last door before the disk: whatever a record holds of the user's program passes through here."""
    text = _json(plain)
    return _json(redact_plain(plain)) if may_hold_secrets(text.decode()) else text


def _json(plain: Any) -> bytes:
    return json.dumps(plain, separators=(",", ":")).encode()
