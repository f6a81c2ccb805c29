"""Memory over the time of a trace, and which operators asked for it."""

from __future__ import annotations

from torch_debugger.profiling.timeline import Op
from torch_debugger.profiling.traces.gathering import Gathered, MemoryEvent
from torch_debugger.records import TracedAllocations, TracedMemory, TracedMoments

_MOMENTS = 400
_MOST_DEVICES = 32
_MOST_OPS = 200


def curves(gathered: Gathered, began_ns: int) -> TracedMoments | None:
    """Each device's last number holds until its next; of a stretch the highest is kept."""
    if not gathered.memory:
        return None
    events = sorted(gathered.memory, key=lambda each: each.moment_ns)
    first, last = events[0].moment_ns, events[-1].moment_ns
    moments = min(_MOMENTS, len(events))
    edges = [first + (last - first) * part // max(moments - 1, 1) for part in range(moments)]
    devices: dict[str, list[MemoryEvent]] = {}
    for each in events:
        if len(devices) < _MOST_DEVICES or each.device in devices:
            devices.setdefault(each.device, []).append(each)
    peaks = {device: max(each, key=lambda event: event.used_bytes) for device, each in sorted(devices.items())}
    return TracedMoments(
        tuple((edge - began_ns) / 1e9 for edge in edges),
        {device: _highest(devices[device], "used_bytes", edges) for device in peaks},
        {
            device: _highest(devices[device], "reserved_bytes", edges)
            for device in peaks
            if any(each.reserved_bytes for each in devices[device])
        },
        {device: peak.used_bytes for device, peak in peaks.items()},
        {device: (peak.moment_ns - began_ns) / 1e9 for device, peak in peaks.items()},
    )


def in_milliseconds(moments: TracedMoments | None) -> TracedMemory | None:
    """As a run's log has it: from the first number on."""
    if moments is None:
        return None
    first = moments.moments_s[0]
    times = tuple(round((each - first) * 1e3, 6) for each in moments.moments_s)
    return TracedMemory(times, moments.allocated_bytes, moments.peak_bytes)


def _highest(events: list[MemoryEvent], number: str, edges: list[int]) -> tuple[int, ...]:
    found: list[int] = []
    place, now = 0, 0
    for edge in edges:
        most = now
        while place < len(events) and events[place].moment_ns <= edge:
            now = getattr(events[place], number)
            most = max(most, now)
            place += 1
        found.append(most)
    return tuple(found)


def allocations(gathered: Gathered) -> tuple[TracedAllocations, ...]:
    """Each request belongs to the innermost operator of its thread that ran then."""
    sums: dict[tuple[str, str], list[int]] = {}
    for event, op in _with_ops(gathered):
        each = sums.setdefault((op.name if op is not None else "", event.device), [0, 0, 0])
        if event.size_bytes > 0:
            each[0] += 1
            each[1] += event.size_bytes
        each[2] += event.size_bytes
    rows = [TracedAllocations(op, device, *numbers) for (op, device), numbers in sums.items() if numbers[0]]
    return tuple(sorted(rows, key=lambda each: -each.allocated_bytes)[:_MOST_OPS])


def _with_ops(gathered: Gathered) -> list[tuple[MemoryEvent, Op | None]]:
    by_thread: dict[int, list[MemoryEvent]] = {}
    for event in gathered.memory:
        by_thread.setdefault(event.thread, []).append(event)
    ops_of: dict[int, list[Op]] = {}
    for op in gathered.ops:  # in the order of their beginning
        if not op.is_runtime and op.thread in by_thread:
            ops_of.setdefault(op.thread, []).append(op)
    found: list[tuple[MemoryEvent, Op | None]] = []
    for thread, events in by_thread.items():
        ops, place, running = ops_of.get(thread, []), 0, list[Op]()
        for event in sorted(events, key=lambda each: each.moment_ns):
            while place < len(ops) and ops[place].began_ns <= event.moment_ns:
                running.append(ops[place])
                place += 1
            while running and running[-1].ended_ns < event.moment_ns:
                running.pop()
            found.append((event, running[-1] if running else None))
    return found
