"""What torch's profiler has recorded, as plain numbers: nested ops of the host, and work of the device."""

from __future__ import annotations

import math
import re
import sys
import threading
from bisect import bisect_right
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from torch_debugger.records import Place
from torch_debugger.source.files import is_user_file, place_at
from torch_debugger.source.frames import frames
from torch_debugger.system.clocks import time

_WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy")
_RUNTIME = ("cuda", "cu", "hip")
_DEEPEST = 1000  # ops inside of ops; a file of somebody's may have any number
_USER_SCOPE = 7  # record_function
_NO_THREAD = 2**64 - 1
_SIZES = {
    "float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "long int": 8, "long": 8, "int": 4, "bool": 1,
    "unsigned char": 1, "signed char": 1, "short int": 2,
}  # fmt: skip
_DTYPES = {"float": "float32", "double": "float64", "Half": "float16"}
_NODE = "autograd::engine::evaluate_function: "
# With `with_stack`: `train.py(12): step`, `<built-in method ...>`, `nn.Module: Linear_0`. Older torch has no
# other sign of them.
_PYTHON_FUNCTION = re.compile(r"\(\d+\): |^<built-in |^nn\.Module: ")


@dataclass
class Op:
    """Something the host did: an op, or a call of the device's runtime."""

    name: str
    began_ns: int
    ended_ns: int
    thread: int
    sequence: int  # of the autograd node it made or runs; -1 without
    is_backward: bool
    shapes: str
    dtype: str = ""  # of the first tensor it was given
    parent: Op | None = None
    inside_ns: int = 0  # of ops that it called
    device_ns: int = 0  # of what it put there itself

    @property
    def own_ns(self) -> int:
        return self.ended_ns - self.began_ns - self.inside_ns

    @property
    def is_runtime(self) -> bool:
        return self.name.startswith(_RUNTIME) and "::" not in self.name

    def waits_in(self, thread: int) -> bool:
        """Calls of the runtime outside of any op have no thread: `torch.cuda.synchronize()`."""
        return self.name in _WAITS and self.thread in (thread, _NO_THREAD)

    def outermost(self) -> Op:
        op = self
        while op.parent is not None:
            op = op.parent
        return op


@dataclass
class DeviceWork:
    """Something the device did."""

    name: str
    began_ns: int
    ended_ns: int
    op: Op | None
    size_bytes: int
    device: int = 0
    stream: int = 0
    blocks_per_sm: float = 0.0
    occupancy: float = 0.0  # estimated by the profiler; a share

    @property
    def is_collective(self) -> bool:
        return self.name.startswith(("nccl", "rccl")) or "ncclDevKernel" in self.name

    @property
    def is_copy(self) -> bool:
        return self.name.startswith("Memcpy")


@dataclass
class Timeline:
    ops: list[Op] = field(default_factory=list)
    works: list[DeviceWork] = field(default_factory=list)
    steps: int = 0  # that were told by `step()`

    def busy_ns(self) -> int:
        """In which the device did anything; what overlaps counts once."""
        return sum(ended - began for began, ended in self.stretches())

    def stretches(self) -> list[tuple[int, int]]:
        """In which the device was never idle, one after the other."""
        found: list[tuple[int, int]] = []
        for work in sorted(self.works, key=lambda each: each.began_ns):
            if found and work.began_ns <= found[-1][1]:
                found[-1] = found[-1][0], max(found[-1][1], work.ended_ns)
            else:
                found.append((work.began_ns, work.ended_ns))
        return found


def read_timeline(results: Any) -> Timeline:
    """From the kineto results of a torch.profiler run."""
    events = [event for event in results.events() if event.duration_ns() >= 0]
    on_host = [event for event in events if _is_on_host(event) and not event.is_async()]
    # Without names that somebody gave to a stretch of ops, and Python functions: they are no ops themselves.
    host = [event for event in on_host if event.scope() != _USER_SCOPE and not _PYTHON_FUNCTION.search(event.name())]
    # A stretch that somebody named stands on the device as well, from its first kernel to its last.
    named = {event.name() for event in on_host if event.scope() == _USER_SCOPE}
    by_correlation: dict[int, Op] = {}
    ops: list[Op] = []
    for event in sorted(host, key=lambda each: (each.start_ns(), -each.duration_ns())):
        op = Op(
            event.name(),
            event.start_ns(),
            event.end_ns(),
            event.start_thread_id(),
            event.sequence_nr(),
            event.fwd_thread_id() > 0 or event.name().startswith(_NODE),
            str(event.shapes()) if event.shapes() else "",
            dtype_named(next((name for name in getattr(event, "dtypes", list)() if name), "")),
        )
        ops.append(op)
        if not op.is_runtime:  # calls of the runtime have numbers of their own, which may be the same
            by_correlation.setdefault(event.correlation_id(), op)
    nest(ops)
    works = []
    for event in events:
        if _is_on_host(event) or event.name() in named:
            continue
        by = by_correlation.get(event.linked_correlation_id())
        size = event.nbytes()
        if not size and by is not None:
            # Of the first tensor of the op; kineto does not tell what a copy on the device was of.
            first = re.match(r"\[\[([\d, ]*)\]", by.shapes)
            size = math.prod(map(int, filter(None, first[1].split(",")))) * _SIZES.get(by.dtype, 0) if first else 0
        works.append(DeviceWork(event.name(), event.start_ns(), event.end_ns(), by, size))
    give_to_ops(works)
    steps = sum(event.name().startswith("ProfilerStep#") for event in on_host)
    return Timeline(ops, works, steps)


def give_to_ops(works: list[DeviceWork]) -> None:
    for work in works:
        if work.op is not None:
            work.op.device_ns += work.ended_ns - work.began_ns


def _is_on_host(event: Any) -> bool:
    return bool(event.device_type().name == "CPU")


def dtype_named(name: str) -> str:
    """c10::Half -> float16"""
    name = name.removeprefix("c10::")
    return _DTYPES.get(name, name.lower())


def nest(ops: list[Op]) -> None:
    """Those of a thread lie inside each other, or beside."""
    open_ops: dict[int, list[Op]] = {}
    for op in ops:
        stack = open_ops.setdefault(op.thread, [])
        while stack and stack[-1].ended_ns <= op.began_ns:
            stack.pop()
        if stack:
            op.parent = stack[-1]
            stack[-1].inside_ns += op.ended_ns - op.began_ns
        if len(stack) < _DEEPEST:
            stack.append(op)


# Which line of the user's code runs when: every line, for the few steps that are profiled.
#
# torch's profiler knows functions but not the lines that run in them. Here Python's own tracing writes down the time
# at which the training passes from one line of the user's to the next; libraries are not traced, so what they do
# belongs to the line that called them.
Line = tuple[str, int]  # file and number
_NOWHERE: Line = ("", 0)


class LineLog:
    """Of the thread that starts it. Python has room for one tracer: where a debugger or a coverage tool is at
    work, `possible` says no and nothing is done."""

    def __init__(self) -> None:
        self.times_ns: list[int] = []
        self.lines: list[Line] = []
        self._before: Any = None
        self._changed: list[FrameType] = []

    @staticmethod
    def possible() -> bool:
        return sys.gettrace() is None and threading.gettrace() is None

    def start(self) -> None:
        """The frames that run already are traced too: the training's loop is one of them."""
        for frame in frames(2):
            if is_user_file(frame.f_code.co_filename) and frame.f_trace is None:
                frame.f_trace = self._in_frame
                self._changed.append(frame)
        self._note(self._changed[0] if self._changed else None)
        sys.settrace(self._on_call)

    def stop(self) -> None:
        sys.settrace(None)
        for frame in self._changed:
            frame.f_trace = None
        self._changed = []
        self.times_ns.append(time.time_ns())
        self.lines.append(_NOWHERE)

    @property
    def wall_s(self) -> float:
        return (self.times_ns[-1] - self.times_ns[0]) / 1e9

    def at(self, moment_ns: int) -> Line:
        """The line that ran at this time."""
        place = bisect_right(self.times_ns, moment_ns) - 1
        return self.lines[place] if place >= 0 else _NOWHERE

    def place(self, line: Line) -> Place:
        return place_at(*line) if line[0] else Place()

    def totals(self) -> dict[Line, tuple[float, int]]:
        """Seconds in each line, and how often it was come to."""
        found: dict[Line, tuple[float, int]] = {}
        ends = [*self.times_ns[1:], self.times_ns[-1]] if self.times_ns else []
        before = _NOWHERE
        for began, ended, line in zip(self.times_ns, ends, self.lines, strict=True):
            seconds, passes = found.get(line, (0.0, 0))
            found[line] = seconds + (ended - began) / 1e9, passes + (line != before)
            before = line
        found.pop(_NOWHERE, None)
        return found

    def between(self, began_ns: int, ended_ns: int) -> LineLog:
        """The part of it that lies there."""
        part = type(self)()
        inside = [place for place, moment in enumerate(self.times_ns) if began_ns < moment < ended_ns]
        part.times_ns = [began_ns, *(self.times_ns[place] for place in inside), ended_ns]
        part.lines = [self.at(began_ns), *(self.lines[place] for place in inside), _NOWHERE]
        return part

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._in_frame if is_user_file(frame.f_code.co_filename) else None

    def _in_frame(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._note(frame)
        elif event == "return":  # back in whoever called it
            caller = frame.f_back
            while caller is not None and not is_user_file(caller.f_code.co_filename):
                caller = caller.f_back
            self._note(caller)
        return self._in_frame

    def _note(self, frame: FrameType | None) -> None:
        self.times_ns.append(time.time_ns())
        self.lines.append((frame.f_code.co_filename, frame.f_lineno) if frame is not None else _NOWHERE)


# Calls of modules in the order of time, whoever has seen them: hooks, or a trace.
class ModuleCalls:
    def __init__(self) -> None:
        self.times_ns: list[int] = []
        self._stacks: list[tuple[str, ...]] = []  # the modules whose forward runs from then on
        self.stack: tuple[str, ...] = ()
        self.calls: list[tuple[str, str, int, int]] = []  # path, kind, when it began and ended

    def at(self, moment_ns: int) -> tuple[str, ...]:
        """The modules whose forward ran at this time, the outermost first."""
        place = bisect_right(self.times_ns, moment_ns) - 1
        return self._stacks[place] if place >= 0 else ()

    def between(self, began_ns: int, ended_ns: int) -> dict[str, tuple[str, int, float]]:
        """By path: the kind, the calls in that time and their seconds, with everything in them."""
        found: dict[str, tuple[str, int, float]] = {}
        reached: dict[str, int] = {}
        for path, kind, began, ended in self.calls:
            if began_ns <= began and ended <= ended_ns:
                _, calls, seconds = found.get(path, (kind, 0, 0.0))
                own_ns = 0 if began < reached.get(path, 0) else ended - began  # inside of itself: counted once
                found[path] = kind, calls + 1, seconds + own_ns / 1e9
                reached[path] = max(reached.get(path, 0), ended)
        return found

    def note(self, now: int, stack: tuple[str, ...]) -> None:
        self.stack = stack
        self.times_ns.append(now)
        self._stacks.append(stack)
