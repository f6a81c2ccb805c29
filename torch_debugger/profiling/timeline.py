"""What torch's profiler has recorded, as plain numbers: nested ops of the host, and work of the device."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

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
class Work:
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
    works: list[Work] = field(default_factory=list)
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
    host = [event for event in on_host if not _is_about_ops(event)]
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
            _first_dtype(event),
        )
        ops.append(op)
        if not op.is_runtime:  # calls of the runtime have numbers of their own, which may be the same
            by_correlation.setdefault(event.correlation_id(), op)
    nest(ops)
    works = [
        Work(
            event.name(),
            event.start_ns(),
            event.end_ns(),
            by_correlation.get(event.linked_correlation_id()),
            event.nbytes() or _given_bytes(by_correlation.get(event.linked_correlation_id())),
        )
        for event in events
        if not _is_on_host(event) and event.name() not in named
    ]
    give_to_ops(works)
    steps = sum(event.name().startswith("ProfilerStep#") for event in on_host)
    return Timeline(ops, works, steps)


def give_to_ops(works: list[Work]) -> None:
    for work in works:
        if work.op is not None:
            work.op.device_ns += work.ended_ns - work.began_ns


def _given_bytes(op: Op | None) -> int:
    """Of the first tensor of an op; kineto does not tell what a copy on the device was of."""
    first = re.match(r"\[\[([\d, ]*)\]", op.shapes) if op is not None else None
    size = _SIZES.get(op.dtype, 0) if op is not None else 0
    return math.prod(map(int, filter(None, first[1].split(",")))) * size if first is not None else 0


def _is_on_host(event: Any) -> bool:
    return bool(event.device_type().name == "CPU")


def _first_dtype(event: Any) -> str:
    return dtype_named(next((name for name in getattr(event, "dtypes", list)() if name), ""))


def dtype_named(name: str) -> str:
    """c10::Half -> float16"""
    name = name.removeprefix("c10::")
    return _DTYPES.get(name, name.lower())


def _is_about_ops(event: Any) -> bool:
    """A name that somebody gave to a stretch of ops, or a Python function: no op itself."""
    return bool(event.scope() == _USER_SCOPE or _PYTHON_FUNCTION.search(event.name()))


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
