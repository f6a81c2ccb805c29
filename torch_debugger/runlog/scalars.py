"""Scalars to events, many at once.

Events with the same tags differ only in time, step and values. With the step's varint padded to one
width these stand at fixed places, so a template is repeated and numpy fills the columns in.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.records import Scalars
from torch_debugger.runlog.events import EVENT_STEP, EVENT_SUMMARY, event_time, scalar_value
from torch_debugger.runlog.wire import BYTES, VARINT, key, varint

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
    held = np.where(np.isinf(values), values, np.clip(values, -_LARGEST, _LARGEST))
    for index, column in enumerate(held.T):
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
    formats = ["<f8", f"({step_width},)u1", *["<f4"] * len(tags)]
    places = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": len(event)})
    return _Template(np.frombuffer(event, np.uint8), places)
