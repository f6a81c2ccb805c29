"""A few steps under torch's profiler, with the user's lines and modules beside it."""

from __future__ import annotations

import dataclasses
import gzip
import heapq
import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.profiler import ProfilerActivity
from torch.utils.hooks import RemovableHandle

from torch_debugger.profiling.attribution import profile_fact
from torch_debugger.profiling.timeline import DeviceWork, LineLog, ModuleCalls, Op, Timeline, read_timeline
from torch_debugger.records import ProfileFact
from torch_debugger.source.frames import user_frame
from torch_debugger.source.variables import module_paths, name_root
from torch_debugger.system.clocks import time


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
        timeline = read_timeline(self._profiler.profiler.kineto_results)  # type: ignore[union-attr]
        # What came later, the wait for the last kernels among it, is not the training's.
        timeline.ops = [op for op in timeline.ops if op.began_ns <= stopped_ns]
        self._timeline = timeline
        whole = (0, time.time_ns())
        fact = profile_fact(timeline, self._lines, self._modules, whole, on_device=self._on_device)
        peak_bytes = torch.cuda.max_memory_allocated() if self._on_device else 0
        return dataclasses.replace(
            fact, first_step=first_step, steps=steps, wall_s=wall_s, plain_s=plain_s,
            cost_s=time.perf_counter() - ended, peak_bytes=peak_bytes,
        )  # fmt: skip

    def write_trace(self, path: str) -> None:
        """For Perfetto and Chrome."""
        self._profiler.export_chrome_trace(path)

    def write_small_trace(self, path: str) -> str:
        """The same with the longest events only; how many of them, in words."""
        kept = write_small_trace(self._timeline, path)
        return f"{kept:,} of {len(self._timeline.ops) + len(self._timeline.works):,}"


def paths_of(alive: list[tuple[Any, Any]]) -> dict[int, str]:
    """id of a module -> its path, over all models that are watched."""
    return {key: path for root, _ in alive for key, path in root.paths.items()}


# Which module's forward runs when, for the few steps that are profiled.
class ModuleLog(ModuleCalls):
    """By the paths it is given (id of a module -> net.layers.0); models that are not among them are named as
    they are called."""

    def __init__(self, paths: Mapping[int, str]) -> None:
        super().__init__()
        self._paths = dict(paths)
        self._handles: list[RemovableHandle] = []

    def start(self) -> None:
        self._handles = [
            module_hooks.register_module_forward_pre_hook(self._enter),
            module_hooks.register_module_forward_hook(self._leave, always_call=True),
        ]

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        if not self.stack and id(module) not in self._paths:
            self._paths |= module_paths(module, name_root(module, user_frame(2)))
        path = self._paths.get(id(module))
        if path is not None:
            now = time.time_ns()
            self.note(now, (*self.stack, path))
            self.calls.append((path, type(module).__name__, now, now))

    def _leave(self, module: nn.Module, arguments: Any, output: Any) -> None:
        path = self._paths.get(id(module))
        if path is None or not self.stack or self.stack[-1] != path:
            return
        now = time.time_ns()
        for place in range(len(self.calls) - 1, -1, -1):
            known, kind, began, ended = self.calls[place]
            if known == path and ended == began:
                self.calls[place] = known, kind, began, now
                break
        self.note(now, self.stack[:-1])


# A trace for Perfetto and Chrome that stays small: the longest ops, and the longest work of the device.
MOST_EVENTS = 300_000  # about 5 MB


def write_small_trace(timeline: Timeline, path: str) -> int:
    """Packed with gzip; how many events are in it."""
    everything: list[Op | DeviceWork] = [*timeline.ops, *timeline.works]
    events = heapq.nlargest(MOST_EVENTS, everything, key=lambda each: each.ended_ns - each.began_ns)
    events.sort(key=lambda each: each.began_ns)
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=3) as file:
        file.write('{"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": [\n')
        file.write(",\n".join(json.dumps(_event(each)) for each in events))
        file.write("\n]}\n")
    return len(events)


def _event(each: Op | DeviceWork) -> dict[str, object]:
    category, thread = ("kernel", "device") if isinstance(each, DeviceWork) else ("cpu_op", each.thread)
    if isinstance(each, Op) and each.is_runtime:
        category = "cuda_runtime"
    when = {"ts": each.began_ns / 1000, "dur": (each.ended_ns - each.began_ns) / 1000}  # in microseconds
    return {"ph": "X", "cat": category, "name": each.name, "pid": 1, "tid": thread, **when}
