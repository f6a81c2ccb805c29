"""A few steps under torch's profiler, with the user's lines and modules beside it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from typing import Any

import torch
from torch.profiler import ProfilerActivity

from torch_debugger.profiling.attribution import Attribution
from torch_debugger.profiling.line_log import LineLog
from torch_debugger.profiling.module_log import ModuleLog
from torch_debugger.profiling.timeline import Timeline, read_timeline
from torch_debugger.records import ProfileFact

_LONGEST_GAP_NS = 10_000_000  # longer than this is no launch under way but a loader, an evaluation, a print


class Window:
    """From `start` to `stop`, both called by the training's own thread."""

    def __init__(self, paths: Mapping[int, str], on_device: bool) -> None:
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_device else [])]
        self._on_device = on_device
        self._profiler = torch.profiler.profile(activities=activities, record_shapes=True, acc_events=True)
        self._lines = LineLog()
        self._modules = ModuleLog(paths)
        self._began = 0.0
        self.has_lines = LineLog.possible()

    def start(self) -> None:
        self._profiler.start()
        self._modules.start()
        if self.has_lines:
            self._lines.start()
        self._began = time.perf_counter()

    def stop(self, first_step: int, steps: int, plain_s: float) -> ProfileFact:
        """Reading what came takes about as long as the steps did."""
        if self._on_device:
            torch.cuda.synchronize()  # else the last kernels would be missing
        wall_s = time.perf_counter() - self._began
        if self.has_lines:
            self._lines.stop()
        self._modules.stop()
        ended = time.perf_counter()
        self._profiler.stop()
        fact = self._read(first_step, steps, wall_s, plain_s)
        return dataclasses.replace(fact, cost_s=time.perf_counter() - ended)

    def write_trace(self, path: str) -> None:
        """For Perfetto and Chrome."""
        self._profiler.export_chrome_trace(path)

    def _read(self, first_step: int, steps: int, wall_s: float, plain_s: float) -> ProfileFact:
        timeline = read_timeline(self._profiler.profiler.kineto_results)  # type: ignore[union-attr]
        whole = (0, time.time_ns())
        fact = told(timeline, self._lines, self._modules, whole, on_device=self._on_device)
        return dataclasses.replace(fact, first_step=first_step, steps=steps, wall_s=wall_s, plain_s=plain_s)


def told(
    timeline: Timeline, lines: LineLog, modules: ModuleLog, between_ns: tuple[int, int], *, on_device: bool
) -> ProfileFact:
    whose = Attribution(timeline, lines, modules, _busiest_thread(timeline), *between_ns)
    return ProfileFact(
        first_step=1,
        steps=timeline.steps or 1,
        wall_s=(between_ns[1] - between_ns[0]) / 1e9,
        on_device=on_device,
        device_busy_s=timeline.busy_ns() / 1e9,
        kernels=sum(not work.is_copy for work in timeline.works),
        gap_s=_gaps_ns(timeline) / 1e9,
        lines=whose.line_times(),
        modules=whose.module_times(),
        ops=whose.op_times(),
        syncs=whose.syncs(),
        copies=whose.copies(),
        cost_s=0.0,
        plain_s=0.0,
    )


def _busiest_thread(timeline: Timeline) -> int:
    """The one with the most ops of a forward: kineto numbers threads in its own way."""
    counts: dict[int, int] = {}
    for op in timeline.ops:
        if not op.is_backward and not op.is_runtime:
            counts[op.thread] = counts.get(op.thread, 0) + 1
    return max(counts, key=lambda thread: counts[thread], default=0)


def _gaps_ns(timeline: Timeline) -> int:
    total, reached = 0, 0
    for work in sorted(timeline.works, key=lambda each: each.began_ns):
        gap = work.began_ns - reached
        total += gap if reached and 0 < gap <= _LONGEST_GAP_NS else 0
        reached = max(reached, work.ended_ns)
    return total


def paths_of(alive: list[tuple[Any, Any]]) -> dict[int, str]:
    """id of a module -> its path, over all models that are watched."""
    return {key: path for root, _ in alive for key, path in root.paths.items()}
