"""A timeline told as a fact: by line, by module, by op, and what the device did."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.profiling.timeline import DeviceWork, Line, LineLog, ModuleCalls, Op, Timeline
from torch_debugger.records import CopyTime, LineTime, ModuleTime, OpTime, ProductTime, ProfileFact, SyncTime

_LAUNCHES = ("cudaLaunch", "cuLaunch", "cudaGraphLaunch", "cuGraphLaunch")
_LONGEST_GAP_NS = 10_000_000  # longer than this is no launch under way but a loader, an evaluation, a print


def profile_fact(
    timeline: Timeline, lines: LineLog, modules: ModuleCalls, between_ns: tuple[int, int], *, on_device: bool
) -> ProfileFact:
    whose = TimeAttribution(timeline, lines, modules, _busiest_thread(timeline), *between_ns)
    gaps_ns, reached = 0, 0
    for work in sorted(timeline.works, key=lambda each: each.began_ns):
        gap = work.began_ns - reached
        gaps_ns += gap if reached and 0 < gap <= _LONGEST_GAP_NS else 0
        reached = max(reached, work.ended_ns)
    return ProfileFact(
        first_step=1,
        steps=timeline.steps or 1,
        wall_s=(between_ns[1] - between_ns[0]) / 1e9,
        on_device=on_device,
        device_busy_s=timeline.busy_ns() / 1e9,
        kernels=sum(not work.is_copy for work in timeline.works),
        launches=sum(op.name.startswith(_LAUNCHES) for op in timeline.ops),
        gap_s=gaps_ns / 1e9,
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


# Whose time it was: what the profiler saw, given to the user's lines and modules.
#
# An op of the forward belongs to the line and the modules that ran when it began. An op of the backward has the
# number of the autograd node that the forward made, and belongs to where that was. Work of the device belongs to the
# op that put it there.
_MOST_LINES, _MOST_OPS, _MOST_MODULES = 60, 60, 2000


@dataclass
class _LineSum:
    backward_ns: int = 0
    given_ns: int = 0  # of a line that calls backward(): told with the lines that made the nodes
    device_ns: int = 0
    device_backward_ns: int = 0


@dataclass
class TimeAttribution:
    timeline: Timeline
    lines: LineLog
    modules: ModuleCalls
    thread: int  # of the training
    began_ns: int
    ended_ns: int
    _makers: dict[int, Op] = field(default_factory=dict)  # by the number of the node that the op made
    _of_lines: dict[Line, _LineSum] = field(default_factory=dict)
    _of_modules: dict[str, _LineSum] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for op in self.timeline.ops:
            if op.sequence >= 0 and not op.is_backward and op.thread == self.thread:
                # Ops that make no node carry the number of the next one: the last with a number has made it.
                self._makers[op.sequence] = op.outermost()
        for op in self.timeline.ops:
            maker = self._makers.get(op.sequence)
            if maker is not None and op.is_backward and (op.parent is None or not op.parent.is_backward):
                took = op.ended_ns - op.began_ns
                for each in self._sums(maker):
                    each.backward_ns += took
                if op.thread == self.thread:
                    self._of_lines.setdefault(self.lines.at(op.began_ns), _LineSum()).given_ns += took
            source = self.source_of(op) if op.device_ns else None
            for each in self._sums(source) if source is not None else ():
                each.device_ns += op.device_ns
                each.device_backward_ns += op.device_ns if _of_backward(op) is not None else 0

    def source_of(self, op: Op) -> Op | None:
        """The op of the forward that this one belongs to: itself, or what made the node it is part of."""
        backward = _of_backward(op)
        return self._makers.get(backward.sequence) if backward is not None else op

    def line_of(self, op: Op) -> Line:
        source = self.source_of(op)
        return self.lines.at(source.began_ns) if source is not None and source.thread == self.thread else ("", 0)

    def _sums(self, op: Op) -> list[_LineSum]:
        """Of the line and of all modules that the op belongs to."""
        if op.thread != self.thread:
            return []
        line = self._of_lines.setdefault(self.lines.at(op.began_ns), _LineSum())
        inside = dict.fromkeys(self.modules.at(op.began_ns))
        return [line, *(self._of_modules.setdefault(path, _LineSum()) for path in inside)]

    def line_times(self) -> tuple[LineTime, ...]:
        found: list[LineTime] = []
        for line, (host_s, passes) in self.lines.totals().items():
            more = self._of_lines.get(line, _LineSum())
            place = self.lines.place(line)
            host_s -= more.given_ns / 1e9
            found.append(LineTime(place, host_s, more.device_ns / 1e9, more.backward_ns / 1e9, passes))
        found.sort(key=lambda each: -(each.host_s + each.device_s + each.backward_s))
        return tuple(found[:_MOST_LINES])

    def module_times(self) -> tuple[ModuleTime, ...]:
        found: list[ModuleTime] = []
        calls = self.modules.between(self.began_ns, self.ended_ns)
        for path, (kind, count, forward_s) in list(calls.items())[:_MOST_MODULES]:
            more = self._of_modules.get(path, _LineSum())
            forward_ns = more.device_ns - more.device_backward_ns
            found.append(
                ModuleTime(
                    path, kind, count, forward_s, more.backward_ns / 1e9, forward_ns / 1e9,
                    more.device_backward_ns / 1e9,
                )
            )  # fmt: skip
        return tuple(found)

    def op_times(self) -> tuple[OpTime, ...]:
        sums: dict[str, list[Op]] = {}
        for op in self.timeline.ops:
            if "::" in op.name and not op.name.startswith("autograd::"):
                sums.setdefault(op.name, []).append(op)
        found = [
            OpTime(
                name,
                len(ops),
                sum(op.own_ns for op in ops) / 1e9,
                sum(op.device_ns for op in ops) / 1e9,
                max(ops, key=lambda op: op.own_ns + op.device_ns).shapes,
            )
            for name, ops in sums.items()
        ]
        return tuple(sorted(found, key=lambda each: -(each.host_s + each.device_s))[:_MOST_OPS])

    def syncs(self) -> tuple[SyncTime, ...]:
        """Lines of the training at which the host stood still until the device had come so far."""
        found: dict[tuple[Line, str], list[Op]] = {}
        for op in self.timeline.ops:
            if op.waits_in(self.thread):
                # The op that made the runtime wait: aten::item, rather than what that called.
                names = [each.name for each in outward(op) if not each.is_runtime]
                name = names[-1] if names else op.name
                found.setdefault((self.lines.at(op.began_ns), name), []).append(op)
        idle = IdleAfter(self.timeline)
        times = [
            SyncTime(
                self.lines.place(line),
                name,
                len(ops),
                sum(op.ended_ns - op.began_ns for op in ops) / 1e9,
                sum(min(op.ended_ns - op.began_ns, idle.at_ns(op.ended_ns)) for op in ops) / 1e9,
            )
            for (line, name), ops in found.items()
        ]
        return tuple(sorted(times, key=lambda each: -each.wait_s))

    def copies(self) -> tuple[CopyTime, ...]:
        found: dict[tuple[Line, str], list[DeviceWork]] = {}
        for work in self.timeline.works:
            if work.is_copy and ("HtoD" in work.name or "DtoH" in work.name):
                line = self.lines.at(work.op.began_ns) if work.op is not None else ("", 0)
                found.setdefault((line, work.name), []).append(work)
        times = [
            CopyTime(
                self.lines.place(line),
                "host to device" if "HtoD" in name else "device to host",
                "Pinned" in name,
                len(works),
                sum(work.size_bytes for work in works),
                sum(work.ended_ns - work.began_ns for work in works) / 1e9,
            )
            for (line, name), works in found.items()
        ]
        return tuple(sorted(times, key=lambda each: -each.device_s))


def _of_backward(op: Op) -> Op | None:
    """The node of the backward that this op is part of."""
    return next((each for each in outward(op) if each.is_backward and each.sequence >= 0), None)


def outward(op: Op) -> Iterable[Op]:
    each: Op | None = op
    while each is not None:
        yield each
        each = each.parent


# Matrix products and convolutions of the device: their dtype and their sizes decide how fast it can be.
_PRODUCTS = frozenset({
    "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::cudnn_convolution",
    "aten::convolution_backward", "aten::cudnn_convolution_transpose", "aten::_conv_depthwise2d",
    "aten::conv_depthwise3d",
})  # fmt: skip
_MOST = 60
# What cuDNN calls its own kernels around a convolution that wants another order than the tensors have.
_LAYOUT = ("nchwToNhwc", "nhwcToNchw")


def product_times(whose: TimeAttribution) -> tuple[ProductTime, ...]:
    found: dict[tuple[str, str, str, Line], list[Op]] = {}
    for op in whose.timeline.ops:
        if op.device_ns and op.name in _PRODUCTS:
            found.setdefault((op.name, op.dtype, op.shapes, whose.line_of(op)), []).append(op)
    times = [
        ProductTime(name, dtype, shapes, whose.lines.place(line), len(ops), sum(op.device_ns for op in ops) / 1e9)
        for (name, dtype, shapes, line), ops in found.items()
    ]
    return tuple(sorted(times, key=lambda each: -each.device_s)[:_MOST])


def layout_ns(timeline: Timeline) -> int:
    return sum(work.ended_ns - work.began_ns for work in timeline.works if any(name in work.name for name in _LAYOUT))


# How long the device has nothing to do once the host has waited for it.
class IdleAfter:
    def __init__(self, timeline: Timeline) -> None:
        self._stretches = timeline.stretches()
        self._begun = [began for began, _ in self._stretches]

    def at_ns(self, moment_ns: int) -> int:
        """Of the gap around this moment; 0 while the device works, and when nothing follows."""
        next_place = bisect_right(self._begun, moment_ns)
        if next_place in (0, len(self._stretches)):
            return 0
        ended_ns = self._stretches[next_place - 1][1]
        return max(0, self._begun[next_place] - ended_ns) if ended_ns <= moment_ns else 0
