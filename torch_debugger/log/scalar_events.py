"""Single numbers, as `add_scalar` takes them, to whole frames: many at once.

Numbers of one step that were logged within a tenth of a second share an event, and its time: that of the
first of them. Times that a script gave are kept as they are. A tag never stands twice in an event, because
readers would keep only the last value.
"""

from __future__ import annotations

import functools
import itertools
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log.protobuf import BYTES, EVENT_STEP, EVENT_SUMMARY, VARINT, event_time, key, scalar_value, varint
from torch_debugger.log.tfrecord import frame_rows
from torch_debugger.records import Scalars

# Scalars to events, many at once.
#
# Events with the same tags differ only in time, step and values. With the step's varint padded to one width these
# stand at fixed places, so a template is repeated and numpy fills the columns in.
OnLarge = Callable[[str, float], None]  # is told the tag of a number that float32 has no room for

_LARGEST = float(np.finfo(np.float32).max)
_WIDTH_LIMITS = np.array([1 << 7 * width for width in range(1, 10)], np.uint64)


class _Template(NamedTuple):
    event: NDArray[np.uint8]  # with zeros where time, step and values go
    places: np.dtype[np.void]  # the fields "time", "step", and one for the value of each tag, by its index


def say_nothing(tag: str, value: float) -> None: ...


def scalar_events(records: Sequence[Scalars], on_large: OnLarge = say_nothing) -> list[bytes]:
    """One payload per record, in the same order."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, record in enumerate(records):
        places[tuple(record.values)].append(place)
    payloads = [b""] * len(records)
    with np.errstate(all="ignore"):  # a script may have numpy raise where a number is large or small
        for tags, alike in places.items():
            for place, payload in zip(alike, _events(tags, [records[i] for i in alike], on_large), strict=True):
                payloads[place] = payload
    return payloads


def beyond_single(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers float32 has no room for; for NaN and Inf it has."""
    large: NDArray[np.bool_] = (np.abs(values) > _LARGEST) & (np.abs(values) < np.inf)
    return large


def _events(tags: tuple[str, ...], records: list[Scalars], on_large: OnLarge) -> list[bytes]:
    numbers = itertools.chain.from_iterable(record.values.values() for record in records)
    values = np.fromiter(numbers, np.float64, len(records) * len(tags)).reshape(len(records), len(tags))
    for row, column in np.argwhere(beyond_single(values)).tolist():
        on_large(tags[column], values[row, column])
    times = np.array([record.time for record in records], np.float64)
    rows = fill_events(tags, times, np.array([record.step for record in records], np.int64), values)
    data, size = rows.tobytes(), rows.shape[1]
    return [data[start : start + size] for start in range(0, len(data), size)]


def fill_events(
    tags: tuple[str, ...], times: NDArray[np.float64], steps: NDArray[np.int64], values: NDArray[np.float64]
) -> NDArray[np.uint8]:
    """One event a row; values[event, tag]. What float32 cannot hold becomes its largest number, not Inf:
    a number that was finite must not read as an overflow of the training."""
    width = int(varint_widths(steps).max())
    template = _template(tags, width)
    rows = np.tile(template.event, (len(steps), 1))
    columns = rows.view(template.places)[:, 0]
    columns["time"] = times
    columns["step"] = _varints(steps.view(np.uint64), width)
    clipped = np.where(np.isinf(values), values, np.clip(values, -_LARGEST, _LARGEST))
    for index, column in enumerate(clipped.T):
        columns[str(index)] = column
    return rows


def varint_widths(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many bytes each takes; a negative number is sent as its two's complement."""
    widths: NDArray[np.int64] = np.searchsorted(_WIDTH_LIMITS, numbers.view(np.uint64), side="right") + 1
    return widths


def _varints(numbers: NDArray[np.uint64], width: int) -> NDArray[np.uint8]:
    shifts = np.arange(width, dtype=np.uint64) * np.uint64(7)
    digits: NDArray[np.uint8] = (numbers[:, None] >> shifts & np.uint64(0x7F)).astype(np.uint8)
    digits[:, :-1] |= 0x80
    return digits


@functools.lru_cache(maxsize=256)
def _template(tags: tuple[str, ...], step_width: int) -> _Template:
    event = event_time(0.0) + key(EVENT_STEP, VARINT)
    offsets = [len(event) - 9, len(event)]
    values = [scalar_value(tag) for tag in tags]
    event += bytes(step_width) + key(EVENT_SUMMARY, BYTES) + varint(sum(map(len, values)))
    for value in values:
        event += value
        offsets.append(len(event) - 4)
    names = ["time", "step", *map(str, range(len(tags)))]
    # As text, "(3,)u1", numpy parses it by ast.literal_eval, which two threads at once cannot do in Python 3.11.
    formats = ["<f8", (np.uint8, (step_width,)), *["<f4"] * len(tags)]
    places = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": len(event)})
    return _Template(np.frombuffer(event, np.uint8), places)


Point = tuple[str, float, int, float]  # tag, value, step, time


class GivenTime(float):
    """A time that was not looked up but given by the script: it is kept to the last bit."""

    __slots__ = ()


_AT_ONCE = 2000  # more would leave the processor's cache and take twice the time
_CELLS_PER_S = 10.0  # numbers of one step and one cell share an event
_Integers = NDArray[np.int64]


class _Columns(NamedTuple):
    tags: list[str]  # each once
    which: _Integers  # for each point its tag, as an index into `tags`
    values: NDArray[np.float64]
    steps: _Integers
    times: NDArray[np.float64]
    given: NDArray[np.bool_] | None  # whether the script gave its time; None where it gave none


def encode_points(points: Sequence[Point], on_large: OnLarge = say_nothing) -> bytes:
    """Frames with every point, in order. Raises as float() and int() do when one is of a wrong kind."""
    with np.errstate(all="ignore"):  # a script may have numpy raise where a number is large or small
        some = (points[start : start + _AT_ONCE] for start in range(0, len(points), _AT_ONCE))
        return b"".join(_encode(each, on_large) for each in some)


def _encode(points: Sequence[Point], on_large: OnLarge) -> bytes:
    columns = _columns(points)
    for place in np.flatnonzero(beyond_single(columns.values)).tolist():
        on_large(points[place][0], points[place][1])
    starts = _event_starts(columns)
    layouts = list(_layouts(columns, starts, np.diff(starts, append=len(points))))
    frames = [_frames(columns, starts[events], count) for events, count in layouts]
    if len(frames) == 1:
        return frames[0].tobytes()
    return _in_order([events for events, _ in layouts], frames, len(starts))


def _columns(points: Sequence[Point]) -> _Columns:
    tags, values, steps, times = zip(*points, strict=True)
    numbers = {tag: number for number, tag in enumerate(dict.fromkeys(tags))}
    which = np.fromiter(map(numbers.__getitem__, tags), np.int64, len(tags))
    # Python's arrays refuse what is no number; numpy would read None as NaN.
    reals = [np.frombuffer(array("d", column), np.float64) for column in (values, times)]
    integers = np.frombuffer(array("q", steps), np.int64)
    return _Columns(list(numbers), which, reals[0], integers, reals[1], _has_own_time(times))


def _has_own_time(times: tuple[float, ...]) -> NDArray[np.bool_] | None:
    if GivenTime not in set(map(type, times)):
        return None
    return np.fromiter((type(time) is GivenTime for time in times), np.bool_, len(times))


def _event_starts(columns: _Columns) -> _Integers:
    """Where a step or a tenth of a second begins, or a tag would come again.

    Points with the same count of earlier points of their tag and step have different tags.
    """
    begins = _changes(columns.steps) | _changes(np.floor(columns.times * _CELLS_PER_S))
    if columns.given is not None:
        begins |= _changes(columns.given) | (columns.given & _changes(columns.times))
    begins |= _changes(_earlier_alike(np.cumsum(begins) * len(columns.tags) + columns.which))
    return np.flatnonzero(begins)


def _changes(column: NDArray[Any]) -> NDArray[np.bool_]:
    changed = np.ones(len(column), np.bool_)
    changed[1:] = column[1:] != column[:-1]
    return changed


def _earlier_alike(keys: _Integers) -> _Integers:
    """For each key how many equal ones stand before it."""
    order = np.argsort(keys, kind="stable")
    first = _changes(keys[order])
    places = np.arange(len(keys))
    earlier = np.zeros(len(keys), np.int64)
    earlier[order] = places - np.maximum.accumulate(np.where(first, places, 0))
    return earlier


def _layouts(columns: _Columns, starts: _Integers, counts: _Integers) -> Iterator[tuple[_Integers, int]]:
    """Events with the same tags and equally long steps, with their number of tags."""
    kinds = counts * 16 + varint_widths(columns.steps[starts])
    for kind in np.unique(kinds).tolist():
        events, count = np.flatnonzero(kinds == kind), kind // 16
        tags = columns.which[starts[events][:, None] + np.arange(count)]
        if (tags == tags[0]).all():
            yield events, count
            continue
        _, layout = np.unique(tags, axis=0, return_inverse=True)
        order = np.argsort(layout.ravel(), kind="stable")
        ends = np.flatnonzero(np.diff(layout.ravel()[order])) + 1
        yield from ((some, count) for some in np.split(events[order], ends))


def _frames(columns: _Columns, starts: _Integers, count: int) -> NDArray[np.uint8]:
    tags = tuple(columns.tags[which] for which in columns.which[starts[0] : starts[0] + count])
    values = columns.values[starts[:, None] + np.arange(count)]
    return frame_rows(fill_events(tags, columns.times[starts], columns.steps[starts], values))


def _in_order(places: list[_Integers], frames: list[NDArray[np.uint8]], count: int) -> bytes:
    sizes = np.zeros(count, np.int64)
    for events, rows in zip(places, frames, strict=True):
        sizes[events] = rows.shape[1]
    ends = np.cumsum(sizes)
    data = np.empty(ends[-1], np.uint8)
    for events, rows in zip(places, frames, strict=True):
        size = rows.shape[1]
        data[(ends[events] - size)[:, None] + np.arange(size)] = rows
    return data.tobytes()
