"""`torch_debugger.profile(...)`: torch.profiler as people write it, and the user's lines and modules beside."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable
from contextlib import ContextDecorator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch
from torch.profiler import ProfilerActivity

from torch_debugger.profiling.attribution import profile_fact
from torch_debugger.profiling.profiled_steps import ModuleLog
from torch_debugger.profiling.timeline import LineLog, Timeline, read_timeline
from torch_debugger.records import Place, ProfileFact
from torch_debugger.report.profile import profile_text
from torch_debugger.report.text import one_line, shown_path
from torch_debugger.source.files import place_at
from torch_debugger.source.frames import user_frame
from torch_debugger.system.clocks import time
from torch_debugger.system.program import say


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
        fact = self._fact_of(timeline)
        self.fact = dataclasses.replace(fact, cost_s=time.perf_counter() - began)
        if self._ready is not None:
            self._ready(profiler)

    def _fact_of(self, timeline: Timeline) -> ProfileFact:
        ops = timeline.ops
        began, ended = (ops[0].began_ns, max(op.ended_ns for op in ops)) if ops else (0, 0)
        lines = self._lines.between(began, ended) if self._lines.times_ns else self._lines
        return profile_fact(timeline, lines, self._modules, (began, ended), on_device=bool(timeline.works))


def _activities() -> list[ProfilerActivity]:
    return [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]


# `torch_debugger.syncs()`: the lines of a block at which the host waits for the GPU.
_SYNC_WARNING = "called a synchronizing CUDA operation"  # how torch begins its warning
_WARN = 1
_MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class SyncPlace:
    """A line, and how often the host waited there."""

    place: Place
    count: int


class syncs(ContextDecorator):  # noqa: N801  a context manager that is also a decorator, as torch's are
    """Which lines make the host wait for the GPU: `.item()`, `.cpu()`, `print(tensor)`, masks, `nonzero`.

        with torch_debugger.syncs() as waits:
            train_step(batch)
        waits.found[0].place, waits.found[0].count

    torch's own `torch.cuda.set_sync_debug_mode("warn")` is on inside and put back at the end; its warnings are
    counted by your lines instead of shown. The lines are printed on stderr at the end, unless `quiet=True`. A
    wait costs some microseconds more. torch does not see all of them: not those of `torch.cuda.synchronize()`,
    of events, or of torch.distributed.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._counts: dict[tuple[str, int], int] = {}
        self._before = 0
        self._listened = False
        self._warnings: warnings.catch_warnings[Any] | None = None
        self._show: Callable[..., Any] = warnings.showwarning

    def __enter__(self) -> syncs:
        self._counts = {}
        if not torch.cuda.is_available():
            say("torch_debugger.syncs() does nothing here: this torch sees no CUDA device to wait for.")
            return self
        self._listened = True
        self._before = torch.cuda.get_sync_debug_mode()
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.filterwarnings("always", message=_SYNC_WARNING)
        self._show = warnings.showwarning
        warnings.showwarning = self._take  # type: ignore[assignment]
        torch.cuda.set_sync_debug_mode(_WARN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._warnings is None:
            return
        torch.cuda.set_sync_debug_mode(self._before)
        self._warnings.__exit__(None, None, None)  # with it, showwarning is the one from before
        self._warnings = None
        if not self._quiet:
            say(str(self))

    @property
    def found(self) -> tuple[SyncPlace, ...]:
        """The most frequent first."""
        places = [SyncPlace(_place(*line), count) for line, count in self._counts.items()]
        return tuple(sorted(places, key=lambda each: -each.count))

    def __str__(self) -> str:
        total = sum(self._counts.values())
        if not self._listened:
            return "This torch sees no CUDA device: there is nothing that the host could wait for."
        if not total:
            return "The host waited for the GPU nowhere in this block, as far as torch tells."
        times = "once" if total == 1 else f"{total:,} times"
        lines = [
            f"  {each.count:>6,} x  {_spot(each.place)}  {one_line(each.place.code or '')}"
            for each in self.found[:_MOST_SHOWN]
        ]
        rest = len(self._counts) - _MOST_SHOWN
        more = [f"  and at {rest:,} more lines"] if rest > 0 else []
        return "\n".join([f"The host waited for the GPU {times}:", *lines, *more])

    def _take(self, message: Any, category: Any, filename: str, lineno: int, *others: Any) -> None:
        """In place of `warnings.showwarning`: while torch warns, the line that waited is still running."""
        if not str(message).startswith(_SYNC_WARNING):
            self._show(message, category, filename, lineno, *others)
            return
        frame = user_frame(2)
        line = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)
        self._counts[line] = self._counts.get(line, 0) + 1


def _place(file: str, line: int) -> Place:
    return place_at(file, line) if file else Place()


def _spot(place: Place) -> str:
    return one_line(f"{shown_path(place.file, os.getcwd())}:{place.line}") if place.file else "outside of your code"
