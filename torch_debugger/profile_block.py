"""`torch_debugger.profile(...)`: torch.profiler as people write it, and the user's lines and modules beside."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from contextlib import ContextDecorator
from types import TracebackType
from typing import Any

import torch
from torch.profiler import ProfilerActivity

from torch_debugger.clocks import time
from torch_debugger.profiling.line_log import LineLog
from torch_debugger.profiling.module_log import ModuleLog
from torch_debugger.profiling.telling import told
from torch_debugger.profiling.timeline import Timeline, read_timeline
from torch_debugger.records import ProfileFact
from torch_debugger.report.profile import profile_text


class profile(ContextDecorator):  # noqa: N801  as torch.profiler names its own
    """Where the time of a block goes: by line, module and op.

        with torch_debugger.profile() as prof:
            train_step(batch)
        print(prof)                      # the dearest lines, modules and ops
        prof.fact.lines[0].place         # the same as numbers

    Takes what `torch.profiler.profile` takes: with `schedule=` call `prof.step()` after each step, and
    `on_trace_ready=torch.profiler.tensorboard_trace_handler("runs/x")` is called with each trace. What that
    profiler can do, this one can: `key_averages()`, `export_chrome_trace(path)`. It is a decorator as well.
    """

    fact: ProfileFact | None = None  # of the last trace; None before there is one

    def __init__(self, *, on_trace_ready: Callable[..., Any] | None = None, **settings: Any) -> None:
        settings.setdefault("record_shapes", True)
        settings.setdefault("acc_events", True)
        settings.setdefault("activities", _activities())
        self._ready = on_trace_ready
        self._settings = settings
        self._profiler: torch.profiler.profile | None = None
        self._lines, self._modules = LineLog(), ModuleLog({})

    def __enter__(self) -> profile:
        self._profiler = torch.profiler.profile(on_trace_ready=self._take, **self._settings)
        self._lines, self._modules = LineLog(), ModuleLog({})
        self._profiler.start()
        self._modules.start()
        if LineLog.possible():
            self._lines.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._profiler is not None
        if self._lines.times_ns:
            self._lines.stop()
        self._modules.stop()
        self._profiler.stop()

    def step(self) -> None:
        """After each step, where there is a schedule."""
        assert self._profiler is not None
        self._profiler.step()

    def __getattr__(self, name: str) -> Any:
        profiler = self.__dict__.get("_profiler")
        if profiler is None:
            raise AttributeError(f"profile has no {name!r} before its block has begun")
        return getattr(profiler, name)

    def __str__(self) -> str:
        return profile_text(self.fact, os.getcwd()) if self.fact is not None else "nothing was profiled yet"

    def _take(self, profiler: torch.profiler.profile) -> None:
        began = time.perf_counter()
        timeline = read_timeline(profiler.profiler.kineto_results)  # type: ignore[union-attr]
        fact = self._told(timeline)
        self.fact = dataclasses.replace(fact, cost_s=time.perf_counter() - began)
        if self._ready is not None:
            self._ready(profiler)

    def _told(self, timeline: Timeline) -> ProfileFact:
        ops = timeline.ops
        began, ended = (ops[0].began_ns, max(op.ended_ns for op in ops)) if ops else (0, 0)
        lines = self._lines.between(began, ended) if self._lines.times_ns else self._lines
        return told(timeline, lines, self._modules, (began, ended), on_device=bool(timeline.works))


def _activities() -> list[ProfilerActivity]:
    return [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
