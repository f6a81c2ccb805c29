"""A trace of torch.profiler as facts: time by op, by function and by module, and memory over time."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.clocks import time
from torch_debugger.errors import UsageError
from torch_debugger.profiling.telling import told
from torch_debugger.profiling.traces.event_stream import EXPECTED, EventStream
from torch_debugger.profiling.traces.gathering import MOST_EVENTS, Gathered
from torch_debugger.profiling.traces.python_calls import (
    Functions,
    PythonCall,
    by_thread,
    functions_of,
    modules_of,
)
from torch_debugger.records import LineTime, ProfileFact, TracedMemory

_MOMENTS = 400
_MOST_DEVICES = 32


@dataclass(frozen=True, slots=True)
class Trace:
    fact: ProfileFact
    memory: TracedMemory | None  # None where it was made without profile_memory=True
    notes: tuple[str, ...]  # what is missing in it, and why


def read_trace(path: str) -> Trace:
    """UsageError, with a sentence, for whatever is no trace."""
    began = time.perf_counter()
    if os.path.exists(path) and not os.path.isfile(path):
        raise UsageError(f"{path} is no plain file. Expected is {EXPECTED}.")
    if not os.path.isfile(path):
        raise UsageError(f"There is no file {path} (looked in {os.getcwd()}).")
    stream = EventStream(path)
    gathered = Gathered.of(stream)
    if not gathered.ops and not gathered.works:
        end = " and its end is missing" if stream.cut else ""
        raise UsageError(f"{path} holds no operation of torch{end}. Expected is {EXPECTED}.")
    notes = tuple(_notes(gathered, path, cut=stream.cut))
    fact = _fact(gathered, os.path.abspath(path))
    fact = dataclasses.replace(fact, cost_s=time.perf_counter() - began)
    return Trace(fact, _memory(gathered), notes)


def _fact(gathered: Gathered, path: str) -> ProfileFact:
    timeline = gathered.timeline()
    span = _span(gathered)
    calls = _calls_of_training(gathered)
    functions = functions_of(calls)
    lines = functions.between(*span) if functions.times_ns else functions
    fact = told(timeline, lines, modules_of(calls), span, on_device=bool(timeline.works))
    named = tuple(_named(line, functions) for line in fact.lines)
    first = min((number for number, _, _ in gathered.steps), default=0)
    return dataclasses.replace(fact, first_step=first + 1, lines=named, trace=path)


def _span(gathered: Gathered) -> tuple[int, int]:
    """Of the steps, where they were told; else from the first op to the last."""
    stretches = [(began, ended) for _, began, ended in gathered.steps]
    stretches = stretches or [
        *((op.began_ns, op.ended_ns) for op in gathered.ops),
        *((work.began_ns, work.ended_ns) for work in gathered.works),
    ]
    return min(began for began, _ in stretches), max(ended for _, ended in stretches)


def _calls_of_training(gathered: Gathered) -> list[PythonCall]:
    """Of the thread that has the most: loaders and loggers have threads too."""
    return max(by_thread(gathered.calls).values(), key=len, default=[])


def _named(line: LineTime, functions: Functions) -> LineTime:
    """A trace knows functions and not lines: where one begins, or was when the trace began."""
    name = functions.names.get((line.place.file or "", line.place.line or 0))
    code = f"in {name}" if name else None
    return dataclasses.replace(line, place=dataclasses.replace(line.place, code=code))


def _memory(gathered: Gathered) -> TracedMemory | None:
    """Each device's last number holds until its next; of a stretch the highest is kept."""
    if not gathered.memory:
        return None
    events = sorted(gathered.memory)
    first, last = events[0][0], events[-1][0]
    moments = min(_MOMENTS, len(events))
    edges = [first + (last - first) * part // max(moments - 1, 1) for part in range(moments)]
    by_device: dict[str, list[tuple[int, str, int]]] = {}
    for each in events:
        if len(by_device) < _MOST_DEVICES or each[1] in by_device:
            by_device.setdefault(each[1], []).append(each)
    curves = {device: _highest(each, edges) for device, each in sorted(by_device.items())}
    peaks = {device: max(used for _, _, used in each) for device, each in sorted(by_device.items())}
    return TracedMemory(tuple((edge - first) / 1e6 for edge in edges), curves, peaks)


def _highest(events: list[tuple[int, str, int]], edges: list[int]) -> tuple[int, ...]:
    found: list[int] = []
    place, now = 0, 0
    for edge in edges:
        most = now
        while place < len(events) and events[place][0] <= edge:
            now = events[place][2]
            most = max(most, now)
            place += 1
        found.append(most)
    return tuple(found)


def _notes(gathered: Gathered, path: str, *, cut: bool) -> Iterator[str]:
    name = os.path.basename(path)
    if cut:
        yield f"{name} ends in the middle: told is what came before its end."
    if gathered.full:
        yield f"{name} is very large: told are its first {MOST_EVENTS:,} events. Profile fewer steps."
    if not gathered.calls:
        yield "Functions and modules are not told: the trace was made without with_stack=True."
