"""What torch's profiler has recorded, as plain numbers: nested ops of the host, and work of the device."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from torch._C._autograd import DeviceType

_WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy")
_RUNTIME = ("cuda", "cu", "hip")
_USER_SCOPE = 7  # record_function
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
    parent: Op | None = None
    inside_ns: int = 0  # of ops that it called
    device_ns: int = 0  # of what it put there itself

    @property
    def own_ns(self) -> int:
        return self.ended_ns - self.began_ns - self.inside_ns

    @property
    def is_runtime(self) -> bool:
        return self.name.startswith(_RUNTIME) and "::" not in self.name

    @property
    def waits(self) -> bool:
        return self.name in _WAITS

    def outermost(self) -> Op:
        op = self
        while op.parent is not None:
            op = op.parent
        return op


@dataclass
class Work:
    """Something the device did."""

    name: str
    began_ns: int
    ended_ns: int
    op: Op | None
    size_bytes: int

    @property
    def is_copy(self) -> bool:
        return self.name.startswith("Memcpy")


@dataclass
class Timeline:
    ops: list[Op] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    steps: int = 0  # that were told by `step()`

    def busy_ns(self) -> int:
        """In which the device did anything; what overlaps counts once."""
        busy, reached = 0, 0
        for work in sorted(self.works, key=lambda each: each.began_ns):
            busy += max(0, work.ended_ns - max(work.began_ns, reached))
            reached = max(reached, work.ended_ns)
        return busy


def read_timeline(results: Any) -> Timeline:
    """From the kineto results of a torch.profiler run."""
    events = [event for event in results.events() if event.duration_ns() >= 0]
    on_host = [event for event in events if event.device_type() == DeviceType.CPU and not event.is_async()]
    host = [event for event in on_host if not _is_about_ops(event)]
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
        )
        ops.append(op)
        by_correlation.setdefault(event.correlation_id(), op)
    _nest(ops)
    works = [
        Work(
            event.name(),
            event.start_ns(),
            event.end_ns(),
            by_correlation.get(event.linked_correlation_id()),
            event.nbytes(),
        )
        for event in events
        if event.device_type() != DeviceType.CPU
    ]
    for work in works:
        if work.op is not None:
            work.op.device_ns += work.ended_ns - work.began_ns
    steps = sum(event.name().startswith("ProfilerStep#") for event in on_host)
    return Timeline(ops, works, steps)


def _is_about_ops(event: Any) -> bool:
    """A name that somebody gave to a stretch of ops, or a Python function: no op itself."""
    return bool(event.scope() == _USER_SCOPE or _PYTHON_FUNCTION.search(event.name()))


def _nest(ops: list[Op]) -> None:
    """Those of a thread lie inside each other, or beside."""
    open_ops: dict[int, list[Op]] = {}
    for op in ops:
        stack = open_ops.setdefault(op.thread, [])
        while stack and stack[-1].ended_ns <= op.began_ns:
            stack.pop()
        if stack:
            op.parent = stack[-1]
            stack[-1].inside_ns += op.ended_ns - op.began_ns
        stack.append(op)
