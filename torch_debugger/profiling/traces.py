"""A trace of torch.profiler as facts: time by op, by function and by module, memory, and its timeline."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch_debugger.profiling.attribution import profile_fact
from torch_debugger.profiling.trace_events import (
    MOST_EVENTS,
    GatheredEvents,
    PythonCall,
    by_thread,
    functions_of,
    modules_of,
    stack_tree,
)
from torch_debugger.profiling.trace_files import EXPECTED, EventStream, Header, read_header
from torch_debugger.profiling.trace_lanes import Lanes, lanes_of, whole_span
from torch_debugger.profiling.trace_operators import allocations, curves, in_milliseconds, kernels, operators
from torch_debugger.profiling.trace_steps import (
    collectives,
    optimizers,
    rank_of,
    settings_of,
    step_windows,
    traced_steps,
    traced_training,
)
from torch_debugger.records import (
    OptimizerFact,
    Place,
    ProfileFact,
    SpeedSettings,
    TracedDevice,
    TracedKernel,
    TracedMemory,
    TraceReport,
)
from torch_debugger.system.clocks import time
from torch_debugger.system.errors import UsageError


@dataclass(frozen=True, slots=True)
class Trace:
    fact: ProfileFact
    memory: TracedMemory | None  # None where it was made without profile_memory=True
    notes: tuple[str, ...]  # what is missing in it, and why
    report: TraceReport
    lanes: Lanes
    settings: SpeedSettings
    optimizers: tuple[OptimizerFact, ...]


def read_trace(path: str, on_share: Callable[[float], None] = lambda share: None) -> Trace:
    """UsageError, with a sentence, for whatever is no trace. `on_share` hears how much of it has been read."""
    began = time.perf_counter()
    if os.path.exists(path) and not os.path.isfile(path):
        raise UsageError(f"{path} is no plain file. Expected is {EXPECTED}.")
    if not os.path.isfile(path):
        raise UsageError(f"There is no file {path} (looked in {os.getcwd()}).")
    stream = EventStream(path, on_share)
    gathered = GatheredEvents.of(stream)
    if not gathered.ops and not gathered.works:
        end = " and its end is missing" if stream.cut else ""
        raise UsageError(f"{path} holds no operation of torch{end}. Expected is {EXPECTED}.")
    header = read_header(stream.header)
    notes = tuple(_notes(gathered, path, cut=stream.cut))
    fact = _fact(gathered, os.path.abspath(path))
    report = _report(gathered, header, fact, notes)
    fact = dataclasses.replace(fact, cost_s=time.perf_counter() - began)
    report = dataclasses.replace(report, profile=fact)
    memory = in_milliseconds(report.memory)
    settings = settings_of(gathered, header)
    return Trace(fact, memory, notes, report, lanes_of(gathered), settings, optimizers(gathered))


def read_rank(path: str) -> Header:
    """What stands in front of a trace's events alone; nothing known of a file that is no trace."""
    stream = EventStream(path)
    try:
        next(iter(stream), None)
    except UsageError:
        return Header()
    return read_header(stream.header)


def _report(gathered: GatheredEvents, header: Header, fact: ProfileFact, notes: tuple[str, ...]) -> TraceReport:
    began, _ = whole_span(gathered)
    span = _span(gathered)
    windows = step_windows(gathered) or [(0, *span)]
    ops, ops_by_shape = operators(gathered)
    found = kernels(gathered)
    calls = _calls_of_training(gathered)
    functions = functions_of(calls)

    def place_at(moment_ns: int) -> Place:
        """The user's function that ran then, where the trace knows functions."""
        file, line = functions.at(moment_ns)
        name = functions.names.get((file, line))
        return Place(file, line, code=f"in {name}") if file else Place()

    return TraceReport(
        file=fact.trace,
        steps=traced_steps(gathered, began),
        wall_s=(span[1] - span[0]) / 1e9,
        profile=fact,
        device=_device(header, fact, found),
        ops=ops,
        ops_by_shape=ops_by_shape,
        kernels=found,
        collectives=collectives(gathered),
        rank=rank_of(gathered, header, fact.trace, os.path.basename(fact.trace), windows),
        memory=curves(gathered, began),
        allocations=allocations(gathered),
        stacks=stack_tree(calls, *span),
        training=traced_training(gathered, windows, place_at),
        notes=notes,
    )


def _device(header: Header, fact: ProfileFact, found: tuple[TracedKernel, ...]) -> TracedDevice | None:
    if not fact.on_device:
        return None
    wall_s, total_s = max(fact.wall_s, 1e-12), max(sum(each.total_s for each in found), 1e-12)
    return TracedDevice(
        header.device_name or "GPU",
        min(1.0, fact.device_busy_s / wall_s),
        min(1.0, sum(each.total_s * min(each.blocks_per_sm, 1.0) for each in found) / wall_s),
        sum(each.total_s * each.occupancy for each in found) / total_s,
        sum(each.total_s for each in found if each.tensor_cores) / total_s,
    )


def _fact(gathered: GatheredEvents, path: str) -> ProfileFact:
    timeline = gathered.timeline()
    span = _span(gathered)
    calls = _calls_of_training(gathered)
    functions = functions_of(calls)
    lines = functions.between(*span) if functions.times_ns else functions
    fact = profile_fact(timeline, lines, modules_of(calls), span, on_device=bool(timeline.works))
    named = []
    for line in fact.lines:  # a trace knows functions and not lines: where one begins, or was when the trace began
        name = functions.names.get((line.place.file or "", line.place.line or 0))
        place = dataclasses.replace(line.place, code=f"in {name}" if name else None)
        named.append(dataclasses.replace(line, place=place))
    first = min((number for number, _, _ in gathered.steps), default=0)
    return dataclasses.replace(fact, first_step=first + 1, lines=tuple(named), trace=path)


def _span(gathered: GatheredEvents) -> tuple[int, int]:
    """Of the steps, where they were told; else from the first op to the last."""
    stretches = [(began, ended) for _, began, ended in step_windows(gathered)]
    stretches = stretches or [
        *((op.began_ns, op.ended_ns) for op in gathered.ops),
        *((work.began_ns, work.ended_ns) for work in gathered.works),
    ]
    return min(began for began, _ in stretches), max(ended for _, ended in stretches)


def _calls_of_training(gathered: GatheredEvents) -> list[PythonCall]:
    """Of the thread that has the most: loaders and loggers have threads too."""
    return max(by_thread(gathered.calls).values(), key=len, default=[])


def _notes(gathered: GatheredEvents, path: str, *, cut: bool) -> Iterator[str]:
    name = os.path.basename(path)
    if cut:
        yield f"{name} ends in the middle: told is what came before its end."
    if gathered.full:
        yield f"{name} is very large: told are its first {MOST_EVENTS:,} events. Profile fewer steps."
    if not gathered.calls:
        yield "Functions and modules are not told: the trace was made without with_stack=True."
