"""A timeline told as a fact: by line, by module, by op, and what the device did."""

from __future__ import annotations

from torch_debugger.profiling.attribution import Attribution, outward
from torch_debugger.profiling.line_log import LineLog
from torch_debugger.profiling.module_calls import ModuleCalls
from torch_debugger.profiling.products import layout_ns, product_times
from torch_debugger.profiling.timeline import Timeline
from torch_debugger.records import ProfileFact

_LAUNCHES = ("cudaLaunch", "cuLaunch", "cudaGraphLaunch", "cuGraphLaunch")
_LONGEST_GAP_NS = 10_000_000  # longer than this is no launch under way but a loader, an evaluation, a print


def told(
    timeline: Timeline, lines: LineLog, modules: ModuleCalls, between_ns: tuple[int, int], *, on_device: bool
) -> ProfileFact:
    whose = Attribution(timeline, lines, modules, _busiest_thread(timeline), *between_ns)
    return ProfileFact(
        first_step=1,
        steps=timeline.steps or 1,
        wall_s=(between_ns[1] - between_ns[0]) / 1e9,
        on_device=on_device,
        device_busy_s=timeline.busy_ns() / 1e9,
        kernels=sum(not work.is_copy for work in timeline.works),
        launches=sum(op.name.startswith(_LAUNCHES) for op in timeline.ops),
        gap_s=_gaps_ns(timeline) / 1e9,
        lines=whose.line_times(),
        modules=whose.module_times(),
        ops=whose.op_times(),
        syncs=whose.syncs(),
        copies=whose.copies(),
        cost_s=0.0,
        plain_s=0.0,
        products=product_times(whose),
        layout_s=layout_ns(timeline) / 1e9,
    )


def _busiest_thread(timeline: Timeline) -> int:
    """The one with the most ops of a forward: kineto numbers threads in its own way. On a device the backward
    has a thread of its own, where only the outermost ops are known as such."""
    counts: dict[int, int] = {}
    for op in timeline.ops:
        if not op.is_runtime and not any(each.is_backward for each in outward(op)):
            counts[op.thread] = counts.get(op.thread, 0) + 1
    return max(counts, key=lambda thread: counts[thread], default=0)


def _gaps_ns(timeline: Timeline) -> int:
    total, reached = 0, 0
    for work in sorted(timeline.works, key=lambda each: each.began_ns):
        gap = work.began_ns - reached
        total += gap if reached and 0 < gap <= _LONGEST_GAP_NS else 0
        reached = max(reached, work.ended_ns)
    return total
