"""Operators of a trace by name and by the shapes of their inputs, and the kernels that they started."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from torch_debugger.profiling.timeline import Op, Work
from torch_debugger.profiling.traces.gathering import Gathered
from torch_debugger.records import TracedKernel, TracedOp

_MOST_OPS, _MOST_KERNELS = 500, 500
_NODE = "autograd::engine::"
# What cuBLAS, cuDNN and CUTLASS call kernels that use tensor cores. Triton's names do not say.
_TENSOR_CORES = re.compile(
    r"tensorop|[sh]\d{3,5}gemm|16816|1688|884|xmma.*(tf32|bf16|f16f16|e4m3)|hmma|imma|gmma|nvjet"
    r"|flash_(fwd|bwd)|fmha"
)
_NO_SHAPES = re.compile(r"(, \[\])*\]$")
_SCALAR = re.compile(r"simt|_sgemm|sgemm_")  # cutlass_80_simt_sgemm computes without


@dataclass(slots=True)
class _Sum:
    calls: int = 0
    host_self_ns: int = 0
    host_ns: int = 0
    device_self_ns: int = 0
    device_ns: int = 0

    def add(self, op: Op, device_ns: int, *, nested: bool) -> None:
        """Inside of a call of the same operator the time is in that one already."""
        self.calls += 1
        self.host_self_ns += op.own_ns
        self.device_self_ns += op.device_ns
        if not nested:
            self.host_ns += op.ended_ns - op.began_ns
            self.device_ns += device_ns


@dataclass(slots=True)
class _Kernel:
    durations: list[int] = field(default_factory=list)
    blocks: float = 0.0  # times their time
    occupancy: float = 0.0
    ops: Counter[str] = field(default_factory=Counter)


def operators(gathered: Gathered) -> tuple[tuple[TracedOp, ...], tuple[TracedOp, ...]]:
    """All calls of each; and by shapes, where the trace has any."""
    ops = [op for op in gathered.ops if is_operator(op)]
    device_ns = device_totals(gathered.ops)
    by_name: dict[tuple[str, str], _Sum] = {}
    by_shape: dict[tuple[str, str], _Sum] = {}
    plain: dict[str, str] = {}  # a trace repeats a few of them
    for op in ops:
        nested = _is_inside_of_its_own(op)
        total = device_ns[id(op)]
        by_name.setdefault((op.name, ""), _Sum()).add(op, total, nested=nested)
        shapes = plain.setdefault(op.shapes, "") or plain_shapes(op.shapes)
        plain[op.shapes] = shapes
        by_shape.setdefault((op.name, shapes), _Sum()).add(op, total, nested=nested)
    return _told(by_name), _told(by_shape) if any(op.shapes for op in ops) else ()


def plain_shapes(shapes: str) -> str:
    """[[10], [64, 32], [], []] -> [10], [64, 32]: numbers that were passed have no shape."""
    return _NO_SHAPES.sub("", shapes.removeprefix("["))


def is_operator(op: Op) -> bool:
    return not op.is_runtime and not op.name.startswith(_NODE)


def device_totals(ops: list[Op]) -> dict[int, int]:
    """By the id of each op: the device's time of its own work and of all that it called. Parents come first."""
    totals = {id(op): op.device_ns for op in ops}
    for op in reversed(ops):
        if op.parent is not None:
            totals[id(op.parent)] += totals[id(op)]
    return totals


def _is_inside_of_its_own(op: Op) -> bool:
    each = op.parent
    while each is not None:
        if each.name == op.name:
            return True
        each = each.parent
    return False


def _told(sums: dict[tuple[str, str], _Sum]) -> tuple[TracedOp, ...]:
    found = [
        TracedOp(
            name, shapes, each.calls, each.host_self_ns / 1e9, each.host_ns / 1e9, each.device_self_ns / 1e9,
            each.device_ns / 1e9,
        )
        for (name, shapes), each in sums.items()
    ]  # fmt: skip
    on_device = any(each.device_self_s for each in found)
    found.sort(key=lambda each: (-(each.device_self_s if on_device else 0.0), -each.host_self_s))
    return tuple(found[:_MOST_OPS])


def kernels(gathered: Gathered) -> tuple[TracedKernel, ...]:
    """Copies and fills are none."""
    sums: dict[str, _Kernel] = {}
    for work in gathered.works:
        if not is_kernel(work):
            continue
        each = sums.setdefault(work.name, _Kernel())
        took = work.ended_ns - work.began_ns
        each.durations.append(took)
        each.blocks += took * work.blocks_per_sm
        each.occupancy += took * work.occupancy
        each.ops[work.op.name if work.op is not None else ""] += 1
    found = [_kernel(name, each) for name, each in sums.items()]
    return tuple(sorted(found, key=lambda each: -each.total_s)[:_MOST_KERNELS])


def is_kernel(work: Work) -> bool:
    return not work.name.startswith(("Memcpy", "Memset"))


def uses_tensor_cores(kernel: str) -> bool:
    return _TENSOR_CORES.search(kernel) is not None and _SCALAR.search(kernel) is None


def _kernel(name: str, each: _Kernel) -> TracedKernel:
    total = sum(each.durations)
    return TracedKernel(
        name,
        each.ops.most_common(1)[0][0],
        len(each.durations),
        total / 1e9,
        min(each.durations) / 1e9,
        max(each.durations) / 1e9,
        each.blocks / max(total, 1),
        each.occupancy / max(total, 1),
        uses_tensor_cores(name),
    )
