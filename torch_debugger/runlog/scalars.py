"""Scalars to events, many at once.

Events with the same tags differ only in time, step and values. With the step's varint padded to one
width these stand at fixed places, so a template is repeated and numpy fills the columns in.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.records import Scalars
from torch_debugger.runlog.events import EVENT_STEP, EVENT_SUMMARY, event_time, scalar_value
from torch_debugger.runlog.wire import BYTES, VARINT, key, varint

_LARGEST = float(np.finfo(np.float32).max)


class _Template(NamedTuple):
    event: NDArray[np.uint8]  # with zeros where time, step and values go
    places: np.dtype[np.void]  # the fields "time", "step", and one for the value of each tag, by its index


def scalar_events(records: Sequence[Scalars]) -> list[bytes]:
    """One payload per record, in the same order."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, record in enumerate(records):
        places[tuple(record.values)].append(place)
    payloads = [b""] * len(records)
    for tags, alike in places.items():
        for place, payload in zip(alike, _events(tags, [records[i] for i in alike]), strict=True):
            payloads[place] = payload
    return payloads


def _events(tags: tuple[str, ...], records: list[Scalars]) -> list[bytes]:
    steps = np.array([record.step for record in records], np.int64).view(np.uint64)
    width = len(varint(int(steps.max())))
    template = _template(tags, width)
    size = len(template.event)
    rows = np.tile(template.event, (len(records), 1))
    columns = rows.view(template.places)[:, 0]
    columns["time"] = [record.time for record in records]
    columns["step"] = _varints(steps, width)
    for index, values in enumerate(_values(records, len(tags)).T):
        columns[str(index)] = values
    data = rows.tobytes()
    return [data[start : start + size] for start in range(0, len(data), size)]


def _values(records: list[Scalars], columns: int) -> NDArray[np.float64]:
    """By record and tag. What float32 cannot hold becomes its largest number, not Inf: a number that
    was finite must not read as an overflow of the training."""
    numbers = itertools.chain.from_iterable(record.values.values() for record in records)
    values = np.fromiter(numbers, np.float64, len(records) * columns).reshape(len(records), columns)
    return np.where(np.isinf(values), values, np.clip(values, -_LARGEST, _LARGEST))


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
