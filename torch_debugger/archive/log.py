"""The event files of one writer after another, read as one: rotated, resumed, or of several processes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

import numpy as np

from torch_debugger.archive.curve import Curve, Points, join
from torch_debugger.archive.event_file import EventFile, Item
from torch_debugger.archive.folders import event_files
from torch_debugger.archive.parsing import FOREIGN, RECORDS, ROWS, SCALARS, EventParser, Value
from torch_debugger.archive.restarts import first_void, valid
from torch_debugger.records import Record, Scalars, Surroundings, TensorRows
from torch_debugger.runlog.decoder import Decoder
from torch_debugger.runlog.events import RECORD_TAG

_Medium = TypeVar("_Medium")
Decode = Callable[[int, float, Value], Iterator[_Medium]]

_FIRST_DATE = 1e9  # seconds since the epoch: in 2001, before there was anything to log with
_RANK_IN_NAME = re.compile(r"\.rank(\d{1,9})(?=\.|$)")


class Log:
    """Files in the order of their names; points keep the order in which they were written."""

    def __init__(self, files: list[EventFile]) -> None:
        self.files = files

    def poll(self, folder: str) -> bool:
        """Reads on, also in files that are new; True if anything came."""
        known = {file.path for file in self.files}
        self.files += [EventFile(path) for path in event_files(folder) if path not in known]
        self.files.sort(key=lambda file: file.path)
        came = [file.poll() for file in self.files]
        return any(came)

    def tags(self) -> dict[str, list[str]]:
        """By kind, in the order in which they came; without our own records."""
        found: dict[str, dict[str, None]] = {SCALARS: {}}
        for file in self.files:
            found[SCALARS].update(dict.fromkeys(file.columns.tags))
            for item in file.items:
                if item.kind not in (RECORDS, ROWS):
                    found.setdefault(item.kind, {})[item.tag] = None
        return {kind: list(tags) for kind, tags in found.items() if tags}

    def has(self, kind: str, tag: str) -> bool:
        if kind == SCALARS:
            return any(tag in file.columns for file in self.files)
        return any(item.kind == kind and item.tag == tag for file in self.files for item in file.items)

    def has_records(self) -> bool:
        return any(item.kind == RECORDS for file in self.files for item in file.items)

    def last_step(self) -> int:
        return max((file.columns.last_step for file in self.files), default=0)

    def time_span(self) -> tuple[float, float] | None:
        """From the first point to the last; times that are no dates count only where there are no others."""
        times = [file.columns.points(tag).times for file in self.files for tag in file.columns.tags]
        dates = [dates for each in times if len(dates := each[each >= _FIRST_DATE])] or times
        return (
            (min(float(each.min()) for each in dates), max(float(each.max()) for each in dates))
            if dates
            else None
        )

    def curve(self, tag: str) -> Curve:
        later = first_void([])
        parts: list[Points] = []
        for file in reversed(self.files):
            points = file.columns.points(tag)
            if file.restarts or later != first_void([]):
                holds = valid(points.places, points.steps, file.restarts, later)
                points = points.chosen(holds)
                later = min(later, first_void(file.restarts))
            parts.append(points)
        whole = join(parts[::-1])
        return Curve(whole.steps, whole.values, whole.times)

    def values(self, kind: str, tag: str | None = None) -> Iterator[tuple[Item, Value]]:
        """What is no scalar, decoded one after the other."""
        for index, file in enumerate(self.files):
            later = first_void([mark for behind in self.files[index + 1 :] for mark in behind.restarts])
            items = [item for item in file.items if item.kind == kind and tag in (None, item.tag)]
            yield from _values(file, _still_valid(file, items, later))

    def media(self, kind: str, tag: str, decode: Decode[_Medium]) -> Iterator[_Medium]:
        """As `values`, each made into what it stands for; what is damaged inside is left out."""
        for item, value in self.values(kind, tag):
            with suppress(*FOREIGN):
                yield from list(decode(item.step, item.time, value))

    def records(self, *kinds: type) -> Iterator[Record]:
        """Our own records of these classes, or of all, file by file."""
        for file in self.files:
            for record in _all_records(file) if not kinds or Scalars in kinds else _records(file, kinds):
                if not kinds or isinstance(record, kinds):
                    yield record

    def by_rank(self) -> dict[int, Log]:
        """The files of each rank; those that do not say it are of rank 0."""
        ranks: dict[int, list[EventFile]] = {}
        for file in self.files:
            ranks.setdefault(_rank(file), []).append(file)
        return {rank: Log(ranks[rank]) for rank in sorted(ranks)}


def _still_valid(file: EventFile, items: list[Item], later: int) -> list[Item]:
    places, steps = (np.array([item[column] for item in items], np.int64) for column in (0, 2))
    holds = valid(places, steps, file.restarts, later)
    return [item for item, still in zip(items, holds, strict=True) if still]


def _values(file: EventFile, items: list[Item]) -> Iterator[tuple[Item, Value]]:
    parser = EventParser()
    for item, payload in file.payloads(items):
        event = parser.parse(payload)
        value = {value.tag: value for value in event.values}.get(item.tag)
        if value is None or event.step != item.step:  # the file was replaced in between
            return
        yield item, value


def _records(file: EventFile, kinds: tuple[type, ...]) -> Iterator[Record]:
    tags = {RECORD_TAG + kind.__name__ for kind in kinds}
    wanted = [item for item in file.items if item.tag in tags or (item.kind == ROWS and TensorRows in kinds)]
    return _decoded(payload for _, payload in file.payloads(wanted))


def _all_records(file: EventFile) -> Iterator[Record]:
    return _decoded(file.all_payloads())


def _decoded(payloads: Iterable[bytes]) -> Iterator[Record]:
    decoder = Decoder()
    for payload in payloads:
        with suppress(*FOREIGN):
            yield from decoder.decode(payload)


def _rank(file: EventFile) -> int:
    named = _RANK_IN_NAME.search(file.name)
    if named:
        return int(named[1])
    around = next(_records(file, (Surroundings,)), None)
    return around.rank if isinstance(around, Surroundings) else 0
