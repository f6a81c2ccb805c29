"""What is worth keeping of a trace's events, as it goes by."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from torch_debugger.profiling.timeline import (
    DeviceWork,
    Line,
    LineLog,
    ModuleCalls,
    Op,
    Timeline,
    dtype_named,
    give_to_ops,
    nest,
)
from torch_debugger.records import Place, TracedStack
from torch_debugger.system.tracebacks import is_user_path, plain_path

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
class GatheredEvents:
    ops: list[Op] = field(default_factory=list)
    works: list[DeviceWork] = field(default_factory=list)
    calls: list[PythonCall] = field(default_factory=list)
    steps: list[tuple[int, int, int]] = field(default_factory=list)  # number, began and ended
    stretches: list[Stretch] = field(default_factory=list)
    memory: list[MemoryEvent] = field(default_factory=list)
    training_thread: int = 0  # of the steps
    seen: int = 0
    full: bool = False
    _by_id: dict[int, Op] = field(default_factory=dict)
    _waiting: list[tuple[DeviceWork, int]] = field(default_factory=list)

    @staticmethod
    def of(events: Iterable[dict[str, Any]]) -> GatheredEvents:
        gathered = GatheredEvents()
        for event in events:
            gathered._see(event)
            gathered.seen += 1
            if gathered.seen > MOST_EVENTS:
                kept = gathered.kept
                gathered.full = kept > MOST_EVENTS or not kept or gathered.seen > _MOST_SEEN
            if gathered.full:
                break
        return gathered

    @property
    def kept(self) -> int:
        return len(self.ops) + len(self.works) + len(self.calls) + len(self.stretches) + len(self.memory)

    def timeline(self) -> Timeline:
        self.ops.sort(key=lambda each: (each.began_ns, -each.ended_ns))
        nest(self.ops)
        for work, identity in self._waiting:
            work.op = self._by_id.get(identity)
        self._waiting = []
        give_to_ops(self.works)
        return Timeline(self.ops, self.works, len({number for number, _, _ in self.steps}))

    def _see(self, event: dict[str, Any]) -> None:
        kind, name, details = event.get("cat"), event.get("name"), event.get("args")
        began_ns = _ns(event.get("ts"))
        if type(name) is not str or began_ns is None:
            return
        kind, name = kind if type(kind) is str else "", name[:_LONGEST_NAME]
        args: dict[str, Any] = details if type(details) is dict else {}
        if name == "[memory]":
            self._see_memory(began_ns, args, _whole(event.get("tid")))
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
            self._see_op(Op(name, began_ns, ended_ns, thread, -1, False, ""), args)
        elif kind in _DEVICE:
            work = DeviceWork(
                name, began_ns, ended_ns, None, _whole(args.get("bytes")), _whole(args.get("device")),
                _whole(args.get("stream")), _share(args.get("blocks per SM")),
                _share(args.get("est. achieved occupancy %")) / 100,
            )  # fmt: skip
            self.works.append(work)
            self._waiting.append((work, _identity(args)))
        elif kind in _PYTHON:
            self.calls.append(PythonCall(name, thread, began_ns, ended_ns))

    def _see_op(self, op: Op, args: dict[str, Any]) -> None:
        sequence = args.get("Sequence number")
        op.sequence = sequence if type(sequence) is int else -1
        op.is_backward = _whole(args.get("Fwd thread id")) > 0 or op.name.startswith(_NODE)
        op.shapes = str(args.get("Input Dims") or "")[:200]
        kinds = args.get("Input type")
        first = next((kind for kind in kinds if kind), "") if type(kinds) is list else ""
        op.dtype = dtype_named(first) if type(first) is str else ""
        self.ops.append(op)
        if not op.is_runtime and _identity(args) >= 0:
            self._by_id.setdefault(_identity(args), op)

    def _see_memory(self, moment_ns: int, args: dict[str, Any], thread: int) -> None:
        kind, used = _whole(args.get("Device Type")), args.get("Total Allocated")
        if type(used) is int and 0 <= used < 2**63:
            name = _KINDS.get(kind, f"device of kind {kind}")
            device = name if kind == _CPU else f"{name}:{max(0, _whole(args.get('Device Id')))}"
            reserved, size = max(0, _whole(args.get("Total Reserved"))), _whole(args.get("Bytes"))
            self.memory.append(MemoryEvent(moment_ns, device, used, reserved, size, thread))


def _identity(args: dict[str, Any]) -> int:
    value = args.get("External id", args.get("external id"))
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


# Python's side of a trace (`with_stack=True`): the functions of the user's, and the calls of modules.
_FUNCTION = re.compile(r"(.+\.py)\((\d{1,9})\): (.+)")
_CELL = re.compile(r"(<ipython-input-[^>]+>|.*ipykernel_\d+/\d+\.py)\((\d{1,9})\): (.+)")
MODULE = "nn.Module: "
_DEEPEST = 60  # modules inside of modules
# The profiler leaves out the folder in which packages lie, so a library shows by its first name alone.
_LIBRARIES = frozenset(sys.stdlib_module_names) | {
    "torch", "torchvision", "torchaudio", "torchtext", "torchmetrics", "torch_debugger", "numpy", "scipy",
    "PIL", "cv2", "pandas", "sklearn", "matplotlib", "transformers", "tokenizers", "datasets", "accelerate",
    "diffusers", "peft", "trl", "lightning", "pytorch_lightning", "lightning_fabric", "ignite", "fastai",
    "timm", "einops", "triton", "xformers", "flash_attn", "apex", "deepspeed", "megatron", "torch_geometric",
    "tqdm", "wandb", "mlflow", "tensorboard", "tensorboardX", "ray", "monai", "kornia", "albumentations",
    "huggingface_hub", "safetensors", "_pytest", "pytest", "pluggy", "IPython", "ipykernel", "traitlets",
    "typing_extensions",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PythonCall:
    name: str  # train.py(8): forward, or nn.Module: Linear_0
    thread: int
    began_ns: int
    ended_ns: int


class Functions(LineLog):
    """As if lines had been logged, but of each function only its first line is known."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[Line, str] = {}

    def place(self, line: Line) -> Place:
        """Nothing is opened: the paths are those of a file that anybody may have written."""
        return Place(*line) if line[0] else Place()


def is_users(file: str) -> bool:
    path = plain_path(file)
    first = path.partition("/")[0].removesuffix(".py")
    return is_user_path(path) and first not in _LIBRARIES


def functions_of(calls: Iterable[PythonCall]) -> Functions:
    """The innermost function of the user's that ran, from each moment on at which that changed."""
    log = Functions()
    for moment_ns, _, running in _changes(call for call in calls if _line(call.name) is not None):
        line = _line(running[-1].name) if running else None
        log.times_ns.append(moment_ns)
        log.lines.append(line[:2] if line is not None else ("", 0))
        if line is not None:
            log.names[line[:2]] = line[2]
    return log


def modules_of(calls: Iterable[PythonCall]) -> ModuleCalls:
    """A module is named by the modules around it: Net_0.Linear_1. Names of attributes are not in a trace."""
    log = ModuleCalls()
    for moment_ns, begun, running in _changes(call for call in calls if call.name.startswith(MODULE)):
        names = [call.name.removeprefix(MODULE) for call in running[:_DEEPEST]]
        stack = tuple(".".join(names[: depth + 1]) for depth in range(len(names)))
        log.note(moment_ns, stack)
        if begun is not None and len(running) <= _DEEPEST:
            kind = names[-1].rpartition("_")[0] or names[-1]
            log.calls.append((stack[-1], kind, begun.began_ns, begun.ended_ns))
    return log


def _changes(calls: Iterable[PythonCall]) -> Iterator[tuple[int, PythonCall | None, list[PythonCall]]]:
    """When, the call that began (None: one ended), and those that run from then on, the outermost first."""
    running: list[PythonCall] = []
    for call in sorted(calls, key=lambda each: (each.began_ns, -each.ended_ns)):
        while running and running[-1].ended_ns <= call.began_ns:
            ended = running.pop()
            yield ended.ended_ns, None, running
        running.append(call)
        yield call.began_ns, call, running
    while running:
        ended = running.pop()
        yield ended.ended_ns, None, running


def _line(name: str) -> tuple[str, int, str] | None:
    """File, line and name of a function of the user's."""
    found = _FUNCTION.fullmatch(name) or _CELL.fullmatch(name)
    if found is None or not is_users(found[1]):
        return None
    return found[1], int(found[2]), found[3]


def by_thread(calls: Iterable[PythonCall]) -> dict[int, list[PythonCall]]:
    ordered = sorted(calls, key=lambda each: each.thread)
    return {thread: list(same) for thread, same in groupby(ordered, key=lambda each: each.thread)}


# The Python calls of a trace (`with_stack=True`) as a tree, for a flame graph.
_LEAST_SHARE = 0.002  # of the whole: what is narrower cannot be seen
_MOST = 3000
_STACKS_DEEPEST = 120


def stack_tree(calls: Iterable[PythonCall], began_ns: int, ended_ns: int) -> tuple[TracedStack, ...]:
    """Calls of one thread, as far as they lie between these times."""
    parents: list[int] = []
    names: list[str] = []
    times: list[int] = []
    counts: list[int] = []
    known: dict[tuple[int, str], int] = {}
    running: list[tuple[int, int]] = []  # node, when it ends
    for call in sorted(calls, key=lambda each: (each.began_ns, -each.ended_ns)):
        began, ended = max(call.began_ns, began_ns), min(call.ended_ns, ended_ns)
        if ended <= began:
            continue
        while running and running[-1][1] <= call.began_ns:
            running.pop()
        if len(running) >= _STACKS_DEEPEST:
            continue
        parent = running[-1][0] if running else -1
        node = known.get((parent, call.name))
        if node is None:
            node = known[parent, call.name] = len(names)
            parents.append(parent)
            names.append(call.name)
            times.append(0)
            counts.append(0)
        times[node] += ended - began
        counts[node] += 1
        running.append((node, call.ended_ns))
    return _kept(parents, names, times, counts)


def _kept(parents: list[int], names: list[str], times: list[int], counts: list[int]) -> tuple[TracedStack, ...]:
    whole = sum(took for took, parent in zip(times, parents, strict=True) if parent < 0)
    wide = sorted((took for took in times if took >= _LEAST_SHARE * whole), reverse=True)
    least = max(wide[min(len(wide), _MOST) - 1] if wide else 0, 1)
    place: dict[int, int] = {-1: -1}
    found: list[TracedStack] = []
    for node, parent in enumerate(parents):
        if times[node] >= least and parent in place:
            place[node] = len(found)
            found.append(TracedStack(place[parent], names[node], times[node] / 1e9, counts[node]))
    return tuple(found[:_MOST])
