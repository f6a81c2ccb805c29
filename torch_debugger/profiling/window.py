"""A few steps under torch's profiler, with the user's lines and modules beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch.profiler import ProfilerActivity

from torch_debugger.clocks import time
from torch_debugger.profiling.line_log import LineLog
from torch_debugger.profiling.module_log import ModuleLog
from torch_debugger.profiling.small_trace import write_small_trace
from torch_debugger.profiling.telling import told
from torch_debugger.profiling.timeline import Timeline, read_timeline
from torch_debugger.records import ProfileFact


class Window:
    """From `start` to `stop`, both called by the training's own thread."""

    def __init__(self, paths: Mapping[int, str], on_device: bool) -> None:
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_device else [])]
        self._on_device = on_device
        self._profiler = torch.profiler.profile(activities=activities, record_shapes=True, acc_events=True)
        self._lines = LineLog()
        self._modules = ModuleLog(paths)
        self._began = 0.0
        self._timeline = Timeline()
        self.has_lines = LineLog.possible()

    def start(self) -> None:
        self._profiler.start()
        self._modules.start()
        if self.has_lines:
            self._lines.start()
        self._began = time.perf_counter()

    def stop(self, first_step: int, steps: int, plain_s: float) -> ProfileFact:
        """Reading what came takes about as long as the steps did."""
        stopped_ns = time.time_ns()
        if self._on_device:
            torch.cuda.synchronize()  # else the last kernels would be missing
        wall_s = time.perf_counter() - self._began
        if self.has_lines:
            self._lines.stop()
            wall_s = self._lines.wall_s  # so that the lines add up to it
        self._modules.stop()
        ended = time.perf_counter()
        self._profiler.stop()
        fact = self._read(first_step, steps, wall_s, plain_s, stopped_ns)
        peak_bytes = torch.cuda.max_memory_allocated() if self._on_device else 0
        return dataclasses.replace(fact, cost_s=time.perf_counter() - ended, peak_bytes=peak_bytes)

    def write_trace(self, path: str) -> None:
        """For Perfetto and Chrome."""
        self._profiler.export_chrome_trace(path)

    def write_small_trace(self, path: str) -> str:
        """The same with the longest events only; how many of them, in words."""
        kept = write_small_trace(self._timeline, path)
        return f"{kept:,} of {len(self._timeline.ops) + len(self._timeline.works):,}"

    def _read(self, first_step: int, steps: int, wall_s: float, plain_s: float, stopped_ns: int) -> ProfileFact:
        timeline = read_timeline(self._profiler.profiler.kineto_results)  # type: ignore[union-attr]
        # What came later, the wait for the last kernels among it, is not the training's.
        timeline.ops = [op for op in timeline.ops if op.began_ns <= stopped_ns]
        self._timeline = timeline
        whole = (0, time.time_ns())
        fact = told(timeline, self._lines, self._modules, whole, on_device=self._on_device)
        return dataclasses.replace(fact, first_step=first_step, steps=steps, wall_s=wall_s, plain_s=plain_s)


def paths_of(alive: list[tuple[Any, Any]]) -> dict[int, str]:
    """id of a module -> its path, over all models that are watched."""
    return {key: path for root, _ in alive for key, path in root.paths.items()}
