"""The bars of a timeline out of what was gathered from a trace: lane by lane, a row for each depth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from torch_debugger.profiling.traces.gathering import Gathered
from torch_debugger.profiling.traces.lanes import (
    ANNOTATION,
    COMMUNICATION,
    KERNEL,
    MEMCPY,
    MEMSET,
    OPERATOR,
    PYTHON,
    RUNTIME,
    STEP,
    Lane,
    Lanes,
    depths,
)

_MOST_LANES = 64
_LONGEST_ABOUT = 240

Bar = tuple[int, int, int, int, int]  # began, ended (ns), number of the name, kind, number of the text about it


class _Texts:
    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.known.setdefault(text, len(self.known)) if text else -1


def lanes_of(gathered: Gathered) -> Lanes:
    began, ended = whole_span(gathered)
    texts = _Texts()
    bars = _by_lane(gathered, began, texts)
    order = sorted(bars, key=lambda key: (key[0] >= 0, key[0], -len(bars[key]), key[1]))[:_MOST_LANES]
    lanes = [_lane(_title(key, gathered), bars[key]) for key in sorted(order, key=_place(gathered, bars))]
    return Lanes(began, ended, lanes, list(texts.known))


def whole_span(gathered: Gathered) -> tuple[int, int]:
    kinds: tuple[Iterable[Any], ...] = (gathered.ops, gathered.works, gathered.calls, gathered.stretches)
    begins = [each.began_ns for kind in kinds for each in kind] + [step[1] for step in gathered.steps]
    ends = [each.ended_ns for kind in kinds for each in kind] + [step[2] for step in gathered.steps]
    return min(begins, default=0), max(ends, default=1)


_Key = tuple[int, int]  # device (-1: the host), thread or stream


def _by_lane(gathered: Gathered, began: int, texts: _Texts) -> dict[_Key, list[Bar]]:
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


def _lane(name: str, bars: list[Bar]) -> Lane:
    bars.sort(key=lambda bar: (bar[0], -bar[1], bar[3]))
    columns = np.array(bars, dtype=np.int64).reshape(-1, 5)
    took = columns[:, 1] - columns[:, 0]
    rows = depths(columns[:, 0], took, columns[:, 3])
    return Lane(name, columns[:, 0], took, rows, columns[:, 2], columns[:, 3], columns[:, 4])


def _title(key: _Key, gathered: Gathered) -> str:
    device, number = key
    if device >= 0:
        return f"GPU {device}, stream {number}"
    return f"thread {number}, the training's" if number == gathered.training_thread else f"thread {number}"


def _place(gathered: Gathered, bars: dict[_Key, list[Bar]]) -> Any:
    """The training's thread first, the other threads by what they did, then the devices."""
    training = gathered.training_thread
    return lambda key: (key[0], key[1] != training if key[0] < 0 else 0, -len(bars[key]) * (key[0] < 0), key[1])
