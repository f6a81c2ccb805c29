"""Operators of a trace by name and by the shapes of their inputs, and the kernels that they started."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from torch_debugger.profiling.timeline import DeviceWork, Op
from torch_debugger.profiling.trace_events import GatheredEvents, MemoryEvent
from torch_debugger.records import TracedAllocations, TracedKernel, TracedMemory, TracedMoments, TracedOp

_MOST_OPS, _MOST_KERNELS = 500, 500
_NODE = "autograd::engine::"
# What cuBLAS, cuDNN and CUTLASS call kernels that use tensor cores. Triton's names do not say.
_TENSOR_CORES = re.compile(
    r"tensorop|[sh]\d{3,5}gemm|16816|1688|884|xmma.*(tf32|bf16|f16f16|e4m3)|hmma|imma|gmma|nvjet"
    r"|flash_(fwd|bwd)|fmha"
)
_NO_SHAPES = re.compile(r"(, \[\])*\]$")
_SCALAR = re.compile(r"simt|_sgemm|sgemm_")  # cutlass_80_simt_sgemm computes without


@dataclass(slots=True)
class _OperatorSum:
    calls: int = 0
    host_self_ns: int = 0
    host_ns: int = 0
    device_self_ns: int = 0
    device_ns: int = 0

    def add(self, op: Op, device_ns: int, *, nested: bool) -> None:
        """Inside of a call of the same operator the time is in that one already."""
        self.calls += 1
        self.host_self_ns += op.own_ns
        self.device_self_ns += op.device_ns
        if not nested:
            self.host_ns += op.ended_ns - op.began_ns
            self.device_ns += device_ns


@dataclass(slots=True)
class _Kernel:
    durations: list[int] = field(default_factory=list)
    blocks: float = 0.0  # times their time
    occupancy: float = 0.0
    ops: Counter[str] = field(default_factory=Counter)


def operators(gathered: GatheredEvents) -> tuple[tuple[TracedOp, ...], tuple[TracedOp, ...]]:
    """All calls of each; and by shapes, where the trace has any."""
    ops = [op for op in gathered.ops if is_operator(op)]
    device_ns = {id(op): op.device_ns for op in gathered.ops}  # of its own work and of all that it called
    for op in reversed(gathered.ops):  # parents come first
        if op.parent is not None:
            device_ns[id(op.parent)] += device_ns[id(op)]
    by_name: dict[tuple[str, str], _OperatorSum] = {}
    by_shape: dict[tuple[str, str], _OperatorSum] = {}
    plain: dict[str, str] = {}  # a trace repeats a few of them
    for op in ops:
        above = op.parent
        while above is not None and above.name != op.name:
            above = above.parent
        nested, total = above is not None, device_ns[id(op)]
        by_name.setdefault((op.name, ""), _OperatorSum()).add(op, total, nested=nested)
        shapes = plain.get(op.shapes) or plain_shapes(op.shapes)
        plain[op.shapes] = shapes
        by_shape.setdefault((op.name, shapes), _OperatorSum()).add(op, total, nested=nested)
    return _ranked(by_name), _ranked(by_shape) if any(op.shapes for op in ops) else ()


def plain_shapes(shapes: str) -> str:
    """[[10], [64, 32], [], []] -> [10], [64, 32]: numbers that were passed have no shape."""
    return _NO_SHAPES.sub("", shapes.removeprefix("["))


def is_operator(op: Op) -> bool:
    return not op.is_runtime and not op.name.startswith(_NODE)


def _ranked(sums: dict[tuple[str, str], _OperatorSum]) -> tuple[TracedOp, ...]:
    found = [
        TracedOp(
            name, shapes, each.calls, each.host_self_ns / 1e9, each.host_ns / 1e9, each.device_self_ns / 1e9,
            each.device_ns / 1e9,
        )
        for (name, shapes), each in sums.items()
    ]  # fmt: skip
    on_device = any(each.device_self_s for each in found)
    found.sort(key=lambda each: (-(each.device_self_s if on_device else 0.0), -each.host_self_s))
    return tuple(found[:_MOST_OPS])


def kernels(gathered: GatheredEvents) -> tuple[TracedKernel, ...]:
    """Copies and fills are none."""
    sums: dict[str, _Kernel] = {}
    for work in gathered.works:
        if not is_kernel(work):
            continue
        each = sums.setdefault(work.name, _Kernel())
        took = work.ended_ns - work.began_ns
        each.durations.append(took)
        each.blocks += took * work.blocks_per_sm
        each.occupancy += took * work.occupancy
        each.ops[work.op.name if work.op is not None else ""] += 1
    found = []
    for name, each in sums.items():
        total = sum(each.durations)
        kernel = TracedKernel(
            name,
            each.ops.most_common(1)[0][0],
            len(each.durations),
            total / 1e9,
            min(each.durations) / 1e9,
            max(each.durations) / 1e9,
            each.blocks / max(total, 1),
            each.occupancy / max(total, 1),
            uses_tensor_cores(name),
        )
        found.append(kernel)
    return tuple(sorted(found, key=lambda each: -each.total_s)[:_MOST_KERNELS])


def is_kernel(work: DeviceWork) -> bool:
    return not work.name.startswith(("Memcpy", "Memset"))


def uses_tensor_cores(kernel: str) -> bool:
    return _TENSOR_CORES.search(kernel) is not None and _SCALAR.search(kernel) is None


# Memory over the time of a trace, and which operators asked for it.
_MOMENTS = 400
_MOST_DEVICES = 32
_MEMORY_USE_MOST_OPS = 200


def curves(gathered: GatheredEvents, began_ns: int) -> TracedMoments | None:
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


def allocations(gathered: GatheredEvents) -> tuple[TracedAllocations, ...]:
    """Each request belongs to the innermost operator of its thread that ran then."""
    by_thread: dict[int, list[MemoryEvent]] = {}
    for event in gathered.memory:
        by_thread.setdefault(event.thread, []).append(event)
    ops_of: dict[int, list[Op]] = {}
    for op in gathered.ops:  # in the order of their beginning
        if not op.is_runtime and op.thread in by_thread:
            ops_of.setdefault(op.thread, []).append(op)
    sums: dict[tuple[str, str], list[int]] = {}
    for thread, events in by_thread.items():
        ops, place, running = ops_of.get(thread, []), 0, list[Op]()
        for event in sorted(events, key=lambda each: each.moment_ns):
            while place < len(ops) and ops[place].began_ns <= event.moment_ns:
                running.append(ops[place])
                place += 1
            while running and running[-1].ended_ns < event.moment_ns:
                running.pop()
            each = sums.setdefault((running[-1].name if running else "", event.device), [0, 0, 0])
            if event.size_bytes > 0:
                each[0] += 1
                each[1] += event.size_bytes
            each[2] += event.size_bytes
    rows = [TracedAllocations(op, device, *numbers) for (op, device), numbers in sums.items() if numbers[0]]
    return tuple(sorted(rows, key=lambda each: -each.allocated_bytes)[:_MEMORY_USE_MOST_OPS])
