"""The event files of one writer after another, read as one: rotated, resumed, or of several processes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

import numpy as np

from torch_debugger.log.curves import Curve, Points, merge
from torch_debugger.log.decoder_records import Decoder
from torch_debugger.log.decoder_values import FOREIGN, RECORDS, ROWS, SCALARS, EventParser, SummaryValue
from torch_debugger.log.event_files import rank_in_name
from torch_debugger.log.folders import event_files
from torch_debugger.log.protobuf import RECORD_TAG
from torch_debugger.log.reader_columns import NEVER, EventFile, EventItem, first_void, valid
from torch_debugger.records import Record, Scalars, Surroundings, TensorRows

_Medium = TypeVar("_Medium")
Decode = Callable[[int, float, SummaryValue], Iterator[_Medium]]


class Log:
    """Files in the order of their names; points keep the order in which they were written. Where files were
    written at the same time, points are in the order of their steps."""

    def __init__(self, files: list[EventFile]) -> None:
        self.files = files

    def poll(self, folder: str) -> tuple[bool, bool]:
        """Reads on, also in files that are new: whether anything came, and whether any file is gone. A run that
        is recorded anew in the folder of a deleted one is not mixed with it; of an empty folder, which may be
        out of reach for a moment, what was read stays."""
        there = event_files(folder)
        known = {file.path for file in self.files}
        lost = bool(there) and not known.issubset(there)
        kept = [file for file in self.files if file.path in there or not there]
        self.files = kept + [EventFile(path) for path in there if path not in known]
        self.files.sort(key=lambda file: file.path)
        came = [file.poll() for file in self.files]
        return any(came) or lost, lost

    @property
    def read_bytes(self) -> int:
        """How far the files have been read; also told while they are."""
        return sum(file.read_bytes for file in list(self.files))

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

    def record_kinds(self) -> set[str]:
        """The names of the classes of our own records, as the tags have them: nothing is read."""
        items = [item for file in self.files for item in file.items]
        named = {item.tag.removeprefix(RECORD_TAG) for item in items if item.kind == RECORDS}
        return named | {TensorRows.__name__ for item in items if item.kind == ROWS}

    def last_step(self) -> int:
        """Of the scalars that were not taken back."""
        if not any(file.restarts for file in self.files):
            return max((file.columns.last_step for file in self.files), default=0)
        curves = [self.curve(tag) for tag in self.tags().get(SCALARS, [])]
        return max((int(curve.steps.max()) for curve in curves if len(curve)), default=0)

    def time_span(self) -> tuple[float, float] | None:
        """From the first point to the last; times that are no dates count only where there are no others."""
        columns = [file.columns for file in self.files]
        for spans in ([each.dates for each in columns], [each.other_times for each in columns]):
            met = [span for span in spans if span.first <= span.last]
            if met:
                return min(span.first for span in met), max(span.last for span in met)
        return None

    def curve(self, tag: str) -> Curve:
        parts: list[Points] = []
        for file, taken_back in self._with_limits():
            points = file.columns.points(tag)
            if file.restarts or taken_back != NEVER:
                points = points.chosen(valid(points.places, points.steps, file.restarts, taken_back))
            parts.append(points)
        whole = merge(parts)
        return Curve(whole.steps, whole.values, whole.times)

    def _with_limits(self) -> list[tuple[EventFile, int]]:
        """Each file with the step from which on later ones take back what it holds: those of its own rank."""
        limits: dict[int, int] = {}
        pairs: list[tuple[EventFile, int]] = []
        for file in reversed(self.files):
            rank = rank_in_name(file.name) or 0
            pairs.append((file, limits.get(rank, NEVER)))
            limits[rank] = min(limits.get(rank, NEVER), first_void(file.restarts))
        return pairs[::-1]

    def values(
        self, kind: str, tag: str | None = None, steps: frozenset[int] | None = None
    ) -> Iterator[tuple[EventItem, SummaryValue]]:
        """What is no scalar, decoded one after the other; of these steps only, if any are given."""
        for file, taken_back in self._with_limits():
            items = [item for item in file.items if item.kind == kind and tag in (None, item.tag)]
            wanted = [item for item in items if steps is None or item.step in steps]
            yield from _values(file, _still_valid(file, wanted, taken_back))

    def steps(self, kind: str) -> dict[str, list[int]]:
        """By tag of this kind, the steps at which it was logged, each once; nothing is read for it."""
        found: dict[str, set[int]] = {}
        for file, taken_back in self._with_limits():
            for item in _still_valid(file, [item for item in file.items if item.kind == kind], taken_back):
                found.setdefault(item.tag, set()).add(item.step)
        return {tag: sorted(steps) for tag, steps in found.items()}

    def media(
        self, kind: str, tag: str, decode: Decode[_Medium], steps: frozenset[int] | None = None
    ) -> Iterator[_Medium]:
        """As `values`, each made into what it stands for; what is damaged inside is left out."""
        for item, value in self.values(kind, tag, steps):
            with suppress(*FOREIGN):
                yield from list(decode(item.step, item.time, value))

    def records(self, *kinds: type) -> Iterator[Record]:
        """Our own records of these classes, or of all, file by file."""
        for _, record in self.records_of_ranks(*kinds):
            yield record

    def size_of_records(self, *kinds: type) -> int:
        files = self._with_limits()
        return sum(item.size_bytes for file, limit in files for item in _items(file, kinds, limit))

    def records_at(self, step: int, *kinds: type) -> Iterator[Record]:
        """As `records`, of one step; no other is read."""
        for file, taken_back in self._with_limits():
            items = [item for item in _items(file, kinds, taken_back) if item.step == step]
            yield from _decoded(payload for _, payload in file.payloads(items))

    def some_records(self, most: int, kind: type) -> Iterator[Record]:
        """As `records`: of each file at most so many, evenly, the last among them; no other is read."""
        for file, taken_back in self._with_limits():
            items = _items(file, (kind,), taken_back)
            stride = -(-len(items) // most) | 1  # odd: what takes turns, as two moments of a step, stays in it
            yield from _decoded(payload for _, payload in file.payloads(items[::-stride][::-1]))

    def records_of_ranks(self, *kinds: type) -> Iterator[tuple[int | None, Record]]:
        """As `records`, each with the rank that its file says it is of; None where it does not."""
        for file, taken_back in self._with_limits():
            rank, every = rank_in_name(file.name), not kinds or Scalars in kinds
            for record in _decoded(_all_payloads(file, taken_back)) if every else _records(file, kinds, taken_back):
                if not kinds or isinstance(record, kinds):
                    yield rank, record

    def by_rank(self) -> dict[int, Log]:
        """The files of each rank; those that do not say it are of rank 0."""
        ranks: dict[int, list[EventFile]] = {}
        for file in self.files:
            ranks.setdefault(_rank(file), []).append(file)
        return {rank: Log(ranks[rank]) for rank in sorted(ranks)}


def _still_valid(file: EventFile, items: list[EventItem], later: int) -> list[EventItem]:
    places, steps = (np.array([item[column] for item in items], np.int64) for column in (0, 2))
    holds = valid(places, steps, file.restarts, later)
    return [item for item, still in zip(items, holds, strict=True) if still]


def _values(file: EventFile, items: list[EventItem]) -> Iterator[tuple[EventItem, SummaryValue]]:
    parser = EventParser()
    for item, payload in file.payloads(items):
        event = parser.parse(payload)
        value = {value.tag: value for value in event.values}.get(item.tag)
        if value is None or event.step != item.step:  # the file was replaced in between
            return
        yield item, value


def _records(file: EventFile, kinds: tuple[type, ...], taken_back: int = NEVER) -> Iterator[Record]:
    return _decoded(payload for _, payload in file.payloads(_items(file, kinds, taken_back)))


def _items(file: EventFile, kinds: tuple[type, ...], taken_back: int) -> list[EventItem]:
    tags = {RECORD_TAG + kind.__name__ for kind in kinds}
    with_rows = TensorRows in kinds
    some = [
        [item for item in items if tag in tags or item.kind == ROWS]
        for tag, items in file.items_of.items()
        if tag in tags or with_rows
    ]
    wanted = some[0] if len(some) == 1 else sorted(itertools.chain(*some), key=lambda item: item.place)
    return _still_valid(file, wanted, taken_back)


def _all_payloads(file: EventFile, taken_back: int) -> Iterator[bytes]:
    for place, payload in file.all_payloads():
        if not file.restarts and taken_back == NEVER:
            yield payload
            continue
        behind = [step for mark, step in file.restarts if mark > place]
        with suppress(*FOREIGN):
            if EventParser().parse(payload).step < min([*behind, taken_back]):
                yield payload


def _decoded(payloads: Iterable[bytes]) -> Iterator[Record]:
    decoder = Decoder()
    for payload in payloads:
        with suppress(*FOREIGN):
            yield from decoder.decode(payload)


def _rank(file: EventFile) -> int:
    named = rank_in_name(file.name)
    if named is not None:
        return named
    around = next(_records(file, (Surroundings,)), None)
    return around.rank if isinstance(around, Surroundings) else 0
