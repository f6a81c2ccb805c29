"""What is worth keeping of a trace's events, as it goes by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from torch_debugger.profiling.timeline import Op, Timeline, Work, dtype_named, give_to_ops, nest
from torch_debugger.profiling.traces.python_calls import PythonCall

MOST_EVENTS = 3_000_000  # that are kept; about 500 bytes each
_MOST_SEEN = 30_000_000
_LONGEST_NAME = 500
_HOST = {"cpu_op", "cuda_runtime", "cuda_driver", "hip_runtime", "Operator", "Runtime", "operator"}
_DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}
_PYTHON = {"python_function", "Python", "python"}
_NAMED = {"user_annotation", "gpu_user_annotation", "UserAnnotation"}
_NODE = "autograd::engine::evaluate_function: "
_STEP = "ProfilerStep#"
_CPU = 0  # of torch's numbers for kinds of devices
_KINDS = {0: "cpu", 1: "cuda"}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A name for a stretch of time, from record_function or from torch itself: Optimizer.step#Adam.step."""

    name: str
    began_ns: int
    ended_ns: int
    thread: int  # of the host; a stream on a device
    device: int = -1  # -1: the host


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """Bytes asked for (above 0) or given back, and what was in use then."""

    moment_ns: int
    device: str
    used_bytes: int
    reserved_bytes: int
    size_bytes: int
    thread: int


@dataclass
class Gathered:
    ops: list[Op] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    calls: list[PythonCall] = field(default_factory=list)
    steps: list[tuple[int, int, int]] = field(default_factory=list)  # number, began and ended
    stretches: list[Stretch] = field(default_factory=list)
    memory: list[MemoryEvent] = field(default_factory=list)
    training_thread: int = 0  # of the steps
    seen: int = 0
    full: bool = False
    _by_id: dict[int, Op] = field(default_factory=dict)
    _waiting: list[tuple[Work, int]] = field(default_factory=list)

    @staticmethod
    def of(events: Iterable[dict[str, Any]]) -> Gathered:
        gathered = Gathered()
        for event in events:
            gathered._see(event)
            gathered.seen += 1
            if gathered.seen > MOST_EVENTS and gathered.is_too_much():
                gathered.full = True
                break
        return gathered

    @property
    def kept(self) -> int:
        return len(self.ops) + len(self.works) + len(self.calls) + len(self.stretches) + len(self.memory)

    def is_too_much(self) -> bool:
        kept = self.kept
        return kept > MOST_EVENTS or self.seen > (_MOST_SEEN if kept else MOST_EVENTS)

    def timeline(self) -> Timeline:
        self.ops.sort(key=lambda each: (each.began_ns, -each.ended_ns))
        nest(self.ops)
        for work, identity in self._waiting:
            work.op = self._by_id.get(identity)
        self._waiting = []
        give_to_ops(self.works)
        return Timeline(self.ops, self.works, len({number for number, _, _ in self.steps}))

    def _see(self, event: dict[str, Any]) -> None:
        kind, name, given = event.get("cat"), event.get("name"), event.get("args")
        began_ns = _ns(event.get("ts"))
        if type(name) is not str or began_ns is None:
            return
        kind, name = kind if type(kind) is str else "", name[:_LONGEST_NAME]
        told: dict[str, Any] = given if type(given) is dict else {}
        if name == "[memory]":
            self._see_memory(began_ns, told, _whole(event.get("tid")))
            return
        took_ns = _ns(event.get("dur"))
        if event.get("ph") != "X" or took_ns is None or took_ns < 0:
            return
        ended_ns, thread = began_ns + took_ns, _whole(event.get("tid"))
        if name.startswith(_STEP) and kind in ("user_annotation", "cpu_op", "Operator"):
            self.steps.append((_whole(name.removeprefix(_STEP)), began_ns, ended_ns))
            self.training_thread = thread
        elif kind in _NAMED:
            device = _whole(event.get("pid")) if kind.startswith("gpu") else -1
            self.stretches.append(Stretch(name, began_ns, ended_ns, thread, device))
        elif kind in _HOST:
            self._see_op(Op(name, began_ns, ended_ns, thread, -1, False, ""), told)
        elif kind in _DEVICE:
            work = Work(
                name, began_ns, ended_ns, None, _whole(told.get("bytes")), _whole(told.get("device")),
                _whole(told.get("stream")), _share(told.get("blocks per SM")),
                _share(told.get("est. achieved occupancy %")) / 100,
            )  # fmt: skip
            self.works.append(work)
            self._waiting.append((work, _identity(told)))
        elif kind in _PYTHON:
            self.calls.append(PythonCall(name, thread, began_ns, ended_ns))

    def _see_op(self, op: Op, told: dict[str, Any]) -> None:
        sequence = told.get("Sequence number")
        op.sequence = sequence if type(sequence) is int else -1
        op.is_backward = _whole(told.get("Fwd thread id")) > 0 or op.name.startswith(_NODE)
        op.shapes = str(told.get("Input Dims") or "")[:200]
        kinds = told.get("Input type")
        first = next((kind for kind in kinds if kind), "") if type(kinds) is list else ""
        op.dtype = dtype_named(first) if type(first) is str else ""
        self.ops.append(op)
        if not op.is_runtime and _identity(told) >= 0:
            self._by_id.setdefault(_identity(told), op)

    def _see_memory(self, moment_ns: int, told: dict[str, Any], thread: int) -> None:
        kind, used = _whole(told.get("Device Type")), told.get("Total Allocated")
        if type(used) is int and 0 <= used < 2**63:
            name = _KINDS.get(kind, f"device of kind {kind}")
            device = name if kind == _CPU else f"{name}:{max(0, _whole(told.get('Device Id')))}"
            reserved, size = max(0, _whole(told.get("Total Reserved"))), _whole(told.get("Bytes"))
            self.memory.append(MemoryEvent(moment_ns, device, used, reserved, size, thread))


def _identity(told: dict[str, Any]) -> int:
    value = told.get("External id", told.get("external id"))
    return value if type(value) is int else -1


def _ns(value: Any) -> int | None:
    """From the microseconds of a trace."""
    if type(value) not in (int, float) or not abs(value) < 1e18:  # not for NaN
        return None
    return round(float(value) * 1000)


def _share(value: Any) -> float:
    return float(value) if type(value) in (int, float) and 0 <= value < 1e6 else 0.0  # not for NaN


def _whole(value: Any) -> int:
    if type(value) is str and value.isdecimal() and len(value) < 19:
        return int(value)
    return value if type(value) is int and abs(value) < 2**63 else 0
