"""The timeline of a trace in columns of numbers, of which any stretch can be had in a size that can be drawn.

A lane is a thread of the host or a stream of a device. Bars that are narrower than a pixel are drawn as one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.profiling.trace_events import GatheredEvents

# What a bar is; the page has a colour for each.
KINDS = ("step", "annotation", "python", "operator", "runtime", "kernel", "communication", "memcpy", "memset")
STEP, ANNOTATION, PYTHON, OPERATOR, RUNTIME, KERNEL, COMMUNICATION, MEMCPY, MEMSET = range(9)
_DEEPEST = 100
_MOST_BARS = 6000  # in an answer
_Column = NDArray[np.int64]


@dataclass
class Lane:
    name: str
    began: _Column
    took: _Column
    depth: _Column
    names: _Column
    kinds: _Column
    about: _Column

    def without_python(self) -> Lane:
        """What is below Python's functions, nested anew."""
        kept = np.flatnonzero(self.kinds != PYTHON)
        if len(kept) == len(self.kinds):
            return self
        columns = [column[kept] for column in (self.began, self.took, self.names, self.kinds, self.about)]
        depth = depths(columns[0], columns[1], columns[3])
        return Lane(self.name, columns[0], columns[1], depth, *columns[2:])

    @property
    def rows(self) -> int:
        return int(self.depth.max()) + 1 if len(self.depth) else 0


@dataclass
class Lanes:
    began_ns: int = 0
    ended_ns: int = 0
    lanes: list[Lane] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    _plain: list[Lane] | None = None

    def shown(self, *, python: bool) -> list[Lane]:
        """A thread that has nothing but Python's functions is left out without them."""
        if python:
            return self.lanes
        if self._plain is None:
            self._plain = [plain for lane in self.lanes if (plain := lane.without_python()).rows]
        return self._plain

    @property
    def took_s(self) -> float:
        return (self.ended_ns - self.began_ns) / 1e9

    def window(self, from_s: float, to_s: float, pixels: int, *, python: bool = False) -> dict[str, Any]:
        """Bars as rows [start, seconds, depth, name, kind, about, how many they stand for], the names apart."""
        begin = int(max(0.0, from_s) * 1e9)
        end = max(begin + 1, int(min(to_s, self.took_s) * 1e9))
        pixel = max(1, (end - begin) // max(1, min(pixels, 4000)))
        used: dict[int, int] = {}
        lanes: list[dict[str, Any]] = []
        shown_lanes = self.shown(python=python)
        room = max(200, _MOST_BARS // max(1, len(shown_lanes)))
        for lane in shown_lanes:
            bars = _bars(lane, begin, end, pixel, room)
            shown = [
                [
                    round(bar[0] / 1e9, 9), round(bar[1] / 1e9, 9), bar[2], _number(used, bar[3]), bar[4],
                    _number(used, bar[5]), bar[6],
                ]
                for bar in bars
            ]  # fmt: skip
            lanes.append({"name": lane.name, "rows": lane.rows, "bars": shown})
        return {
            "from_s": begin / 1e9,
            "to_s": end / 1e9,
            "whole_s": self.took_s,
            "lanes": lanes,
            "texts": [self.texts[number] for number in used],
            "kinds": list(KINDS),
        }

    def find(self, words: str, after_s: float, *, python: bool = False) -> dict[str, Any] | None:
        """The first bar behind that moment whose name holds these words; around the end it begins anew."""
        wanted = words.lower()
        numbers = [number for number, text in enumerate(self.texts) if wanted in text.lower()]
        moment = int(after_s * 1e9)
        best: tuple[bool, int, int, int] | None = None
        for place, lane in enumerate(self.shown(python=python)):
            hits = np.flatnonzero(np.isin(lane.names, numbers))
            if not len(hits):
                continue
            later = hits[lane.began[hits] > moment]
            hit = int(later[0]) if len(later) else int(hits[0])
            ranked = (not len(later), int(lane.began[hit]), place, hit)
            best = ranked if best is None or ranked < best else best
        if best is None:
            return None
        lane = self.shown(python=python)[best[2]]
        return {
            "start_s": best[1] / 1e9,
            "took_s": float(lane.took[best[3]]) / 1e9,
            "lane": best[2],
            "depth": int(lane.depth[best[3]]),
        }


def _number(used: dict[int, int], text: int) -> int:
    return -1 if text < 0 else used.setdefault(text, len(used))


def _bars(lane: Lane, begin: int, end: int, pixel: int, room: int) -> list[list[int]]:
    seen = np.flatnonzero((lane.began < end) & (lane.began + lane.took > begin))
    while True:
        wide = seen[lane.took[seen] >= pixel]
        if len(wide) <= room:
            break
        pixel *= 2
    bars = [
        [int(lane.began[i]), int(lane.took[i]), int(lane.depth[i]), int(lane.names[i]), int(lane.kinds[i]),
         int(lane.about[i]), 1]
        for i in wide
    ]  # fmt: skip
    narrow = seen[lane.took[seen] < pixel]
    return bars + _merged(lane, narrow, pixel, room)


def _merged(lane: Lane, narrow: NDArray[np.intp], pixel: int, room: int) -> list[list[int]]:
    """Those of a row that are next to each other, as one bar for each pixel."""
    if not len(narrow):
        return []
    while True:
        columns = lane.began[narrow] // pixel * (_DEEPEST + 1) + lane.depth[narrow]
        cells, first, counts = np.unique(columns, return_index=True, return_counts=True)
        if len(cells) <= 2 * room:
            break
        pixel *= 2
    ends = np.zeros(len(cells), dtype=np.int64)
    place = np.searchsorted(cells, columns)
    np.maximum.at(ends, place, lane.began[narrow] + lane.took[narrow])
    bars: list[list[int]] = []
    for cell, number in enumerate(first.tolist()):
        i, many = int(narrow[number]), int(counts[cell])
        began = int(lane.began[i])
        name, about = (int(lane.names[i]), int(lane.about[i])) if many == 1 else (-1, -1)
        bars.append([began, int(ends[cell]) - began, int(lane.depth[i]), name, int(lane.kinds[i]), about, many])
    return bars


def depths(began: _Column, took: _Column, kinds: _Column) -> _Column:
    """Steps have the first row: they begin in one function and end in another. All else is nested."""
    found = np.zeros(len(began), dtype=np.int64)
    first = int(bool((kinds == STEP).any()))
    running: list[int] = []  # when each ends
    for place, (start, end, kind) in enumerate(
        zip(began.tolist(), (began + took).tolist(), kinds.tolist(), strict=True)
    ):
        if kind == STEP:
            continue
        while running and running[-1] <= start:
            running.pop()
        found[place] = min(first + len(running), _DEEPEST - 1)
        running.append(end)
    return found


# The bars of a timeline out of what was gathered from a trace: lane by lane, a row for each depth.
_MOST_LANES = 64
_LONGEST_ABOUT = 240

Bar = tuple[int, int, int, int, int]  # began, ended (ns), number of the name, kind, number of the text about it


class _Texts:
    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.known.setdefault(text, len(self.known)) if text else -1


def lanes_of(gathered: GatheredEvents) -> Lanes:
    began, ended = whole_span(gathered)
    texts = _Texts()
    all_bars = _by_lane(gathered, began, texts)
    training = gathered.training_thread

    def place(key: _Key) -> tuple[int, bool, int, int]:
        """The training's thread first, the other threads by what they did, then the devices."""
        device, number = key
        return (device, number != training, -len(all_bars[key]), number) if device < 0 else (device, False, 0, number)

    order = sorted(all_bars, key=lambda key: (key[0] >= 0, key[0], -len(all_bars[key]), key[1]))[:_MOST_LANES]
    lanes = []
    for device, number in sorted(order, key=place):
        bars = all_bars[device, number]
        bars.sort(key=lambda bar: (bar[0], -bar[1], bar[3]))
        columns = np.array(bars, dtype=np.int64).reshape(-1, 5)
        took = columns[:, 1] - columns[:, 0]
        rows = depths(columns[:, 0], took, columns[:, 3])
        title = f"thread {number}" if device < 0 else f"GPU {device}, stream {number}"
        title += ", the training's" if device < 0 and number == training else ""
        lanes.append(Lane(title, columns[:, 0], took, rows, columns[:, 2], columns[:, 3], columns[:, 4]))
    return Lanes(began, ended, lanes, list(texts.known))


def whole_span(gathered: GatheredEvents) -> tuple[int, int]:
    kinds: tuple[Iterable[Any], ...] = (gathered.ops, gathered.works, gathered.calls, gathered.stretches)
    begins = [each.began_ns for kind in kinds for each in kind] + [step[1] for step in gathered.steps]
    ends = [each.ended_ns for kind in kinds for each in kind] + [step[2] for step in gathered.steps]
    return min(begins, default=0), max(ends, default=1)


_Key = tuple[int, int]  # device (-1: the host), thread or stream


def _by_lane(gathered: GatheredEvents, began: int, texts: _Texts) -> dict[_Key, list[Bar]]:
    found: dict[_Key, list[Bar]] = {}

    def add(key: _Key, start: int, end: int, name: str, kind: int, about: str = "") -> None:
        bar = start - began, end - began, texts.number(name), kind, texts.number(about[:_LONGEST_ABOUT])
        found.setdefault(key, []).append(bar)

    thread = gathered.training_thread
    for number, start, end in gathered.steps:
        add((-1, thread), start, end, f"ProfilerStep#{number}", STEP)
    for each in gathered.stretches:
        kind = STEP if each.name.startswith("ProfilerStep#") else ANNOTATION
        add((each.device, each.thread), each.began_ns, each.ended_ns, each.name, kind)
    for call in gathered.calls:
        add((-1, call.thread), call.began_ns, call.ended_ns, call.name, PYTHON)
    for op in gathered.ops:
        about = f"inputs {op.shapes}" if op.shapes else ""
        add((-1, op.thread), op.began_ns, op.ended_ns, op.name, RUNTIME if op.is_runtime else OPERATOR, about)
    for work in gathered.works:
        kind = COMMUNICATION if work.is_collective else MEMCPY if work.is_copy else KERNEL
        kind = MEMSET if work.name.startswith("Memset") else kind
        about = f"started by {work.op.name}" if work.op is not None else ""
        size = f"{work.size_bytes:,} bytes" if work.size_bytes else ""
        texts_about = "; ".join(part for part in (about, size) if part)
        add((work.device, work.stream), work.began_ns, work.ended_ns, work.name, kind, texts_about)
    return found
