"""What `flops` gives: counts by phase, module and operation, and what could not be counted."""

from __future__ import annotations

import html
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import torch

from torch_debugger.model.op_counter import FORWARD, CountedOperation, ModuleScopes, OpCounter
from torch_debugger.records import Place
from torch_debugger.records.units import bytes_text
from torch_debugger.system.errors import UsageError


@dataclass(frozen=True)
class Counts:
    macs: int = 0  # multiply-accumulates of matrix products, convolutions, attention, recurrent layers
    elementwise: int = 0  # FLOPs of everything else, by a simple convention: not part of `flops`
    bytes: int = 0  # read and written by all operations, each operand once

    @property
    def flops(self) -> int:
        """1 MAC = 2 FLOPs."""
        return 2 * self.macs

    @property
    def intensity(self) -> float:
        """FLOPs, elementwise ones included, for each byte."""
        return (self.flops + self.elementwise) / self.bytes if self.bytes else 0.0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.macs + other.macs, self.elementwise + other.elementwise, self.bytes + other.bytes)

    def to_dict(self) -> dict[str, float]:
        return {**asdict(self), "flops": self.flops, "intensity": self.intensity}


@dataclass(frozen=True)
class ModuleCount(Counts):
    """Of a module with all that lies below it; `own` is without its children."""

    path: str = ""
    module: str = ""  # its class
    calls: int = 0
    own: Counts = Counts()
    forward: Counts = Counts()
    backward: Counts = Counts()
    bound: str = ""  # compute-bound or memory-bound, where a machine is given

    def to_dict(self) -> dict[str, Any]:
        parts = {name: getattr(self, name).to_dict() for name in ("own", "forward", "backward")}
        return {**super().to_dict(), **parts}


@dataclass(frozen=True)
class OpCount(Counts):
    calls: int = 0


@dataclass(frozen=True)
class UncountedOp:
    """An operation whose arithmetic is not part of any figure."""

    op: str
    calls: int
    call_share: float  # of all operations that compute or move something
    bytes: int
    byte_share: float
    modules: tuple[str, ...]
    places: tuple[Place, ...]  # the lines that called it

    def __str__(self) -> str:
        where = ", ".join(f"{place.file}:{place.line}" for place in self.places[:2])
        inside = ", ".join(f"`{path}`" for path in self.modules[:3] if path)
        calls = f"{self.calls} call{'s' * (self.calls != 1)}"
        shares = f"{calls} ({self.call_share:.1%}), {self.byte_share:.1%} of the bytes"
        return "; ".join(part for part in (f"{self.op}: {shares}", inside and f"in {inside}", where) if part)


@dataclass(frozen=True)
class FlopCount:
    """1 MAC (one multiplication and one addition) = 2 FLOPs; `macs` and `flops` are of forward and backward."""

    model: str  # its class
    forward: Counts
    backward: Counts | None  # None where it was not asked for; what a checkpoint computes again is part of it
    recomputed: Counts
    by_module: dict[str, ModuleCount]  # by path; the model itself has the path ""
    by_op: dict[str, OpCount]
    uncounted: tuple[UncountedOp, ...]
    machine: Machine | None = None
    note: str = ""  # how it was counted, where shapes alone were not enough

    @property
    def total(self) -> Counts:
        return self.forward + self.backward if self.backward is not None else self.forward

    @property
    def macs(self) -> int:
        return self.total.macs

    @property
    def flops(self) -> int:
        return self.total.flops

    @property
    def elementwise(self) -> int:
        return self.total.elementwise

    @property
    def bytes(self) -> int:
        return self.total.bytes

    @property
    def intensity(self) -> float:
        return self.total.intensity

    def table(self, depth: int | None = None) -> str:
        """As text; `depth` levels of modules, or all."""
        deepest = float("inf") if depth is None else depth
        fitting = [
            each
            for path, each in self.by_module.items()
            if (path.count(".") + 1 if path else 0) <= deepest and (each.calls or each.bytes or not path)
        ]
        shown = fitting if depth is None else fitting[:_MOST_ROWS]
        rows = _table_rows(self, shown)
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [*_summary(self), ""]
        for row in rows:  # names to the left, numbers to the right
            left = [f"{cell:<{width}}" for cell, width in zip(row[:2], widths[:2], strict=True)]
            right = [f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:], strict=True)]
            lines.append("  ".join([*left, *right]).rstrip())
        if len(fitting) > len(shown):
            lines.append(f"... and {len(fitting) - len(shown)} modules more: .table(depth=None) shows them all")
        if self.uncounted:
            lines += ["", "not counted:", *(f"  {each}" for each in self.uncounted)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table(depth=2)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON."""
        return {
            "model": self.model,
            **{name: getattr(self, name) for name in ("macs", "flops", "elementwise", "bytes", "intensity")},
            "forward": self.forward.to_dict(),
            "backward": None if self.backward is None else self.backward.to_dict(),
            "recomputed": self.recomputed.to_dict(),
            "by_module": {path: count.to_dict() for path, count in self.by_module.items()},
            "by_op": {op: count.to_dict() for op, count in self.by_op.items()},
            "uncounted": [asdict(each) for each in self.uncounted],
            "machine": None if self.machine is None else asdict(self.machine),
            "note": self.note,
        }


# Counts as a table for people to read.
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")
_LONGEST_PATH = 44
_MOST_ROWS = 60


def number_text(value: float) -> str:
    """950, 12.3 k, 4.09 G"""
    place = 0
    while abs(value) >= 999.5 and place < len(_PREFIXES) - 1:
        value, place = value / 1000, place + 1
    return f"{value:.3g} {_PREFIXES[place]}" if place else f"{value:.4g}"


def _with_unit(value: float, unit: str) -> str:
    """4.09 GMACs, 950 MACs"""
    text = number_text(value)
    return f"{text}{unit}" if " " in text else f"{text} {unit}"


def _summary(count: FlopCount) -> list[str]:
    lines = [f"{count.model}: {_both(count.forward)} forward (1 MAC = 2 FLOPs)"]
    if count.backward is not None:
        lines.append(f"  {_both(count.backward)} backward, {_both(count.total)} in all")
    if count.recomputed.macs:
        lines.append(f"  {_both(count.recomputed)} of the backward are forward computed again, for checkpoints")
    lines.append(
        f"  besides: {_with_unit(count.elementwise, 'FLOPs')} elementwise and in reductions; "
        f"{bytes_text(count.bytes)} read and written; {count.intensity:.3g} FLOPs a byte"
    )
    if (machine := count.machine) is not None:
        flops = count.flops + count.elementwise
        # No run can be quicker: both at full speed, and beside each other.
        least_s = max(flops / machine.peak_flops, count.bytes / machine.bandwidth)
        least = f"{least_s * 1e6:.3g} us" if least_s < 1e-3 else f"{least_s * 1e3:.4g} ms"
        speeds = f"{_with_unit(machine.peak_flops, 'FLOPs/s')}, {bytes_text(int(machine.bandwidth))}/s"
        ridge = f"compute-bound from {machine.ridge:.3g} FLOPs a byte"
        lines.append(f"  {machine.name}: {speeds}: {ridge}; at least {least}")
    return lines + ([f"  {count.note}"] if count.note else [])


def _both(counts: Counts) -> str:
    return f"{_with_unit(counts.macs, 'MACs')} = {_with_unit(counts.flops, 'FLOPs')}"


def _table_rows(count: FlopCount, shown: list[ModuleCount]) -> list[list[str]]:
    has_backward, has_machine = count.backward is not None, count.machine is not None
    heading = ["module", "class", "MACs", "FLOPs", "%", *(["backward MACs"] if has_backward else [])]
    rows = [[*heading, "elementwise", "bytes", "FLOPs/byte", *(["limit"] if has_machine else [])]]
    for each in shown:
        share = each.macs / count.macs if count.macs else 0.0
        name = "  " * each.path.count(".") + "  " + each.path.rpartition(".")[2] if each.path else "(model)"
        name = name if len(name) <= _LONGEST_PATH else f"{name[: _LONGEST_PATH - 3]}..."
        cells = [name, each.module, number_text(each.forward.macs), number_text(each.forward.flops), f"{share:.1%}"]
        cells += [number_text(each.backward.macs)] if has_backward else []
        cells += [number_text(each.elementwise), bytes_text(each.bytes), f"{each.intensity:.3g}"]
        rows.append([*cells, *([each.bound] if has_machine else [])])
    return rows


# The entries of a counter, added up: by phase, by module with all that lies below it, and by operation.
def counts_of(counter: OpCounter, phases: Iterable[str]) -> Counts:
    return _added(item for item in counter.calls.items() if item[0].phase in phases)


def main_dtype(counter: OpCounter) -> torch.dtype | None:
    """In which most multiply-accumulates are done."""
    macs: Counter[torch.dtype] = Counter()
    for entry, calls in counter.calls.items():
        if entry.cost.dtype is not None:
            macs[entry.cost.dtype] += entry.cost.macs * calls
    return macs.most_common(1)[0][0] if macs else None


def by_module(counter: OpCounter, scopes: ModuleScopes, machine: Machine | None) -> dict[str, ModuleCount]:
    """In the order of named_modules(); a part of the model that nothing called has counts of zero."""
    own: dict[tuple[str, bool], Counts] = defaultdict(Counts)
    below: dict[tuple[str, bool], Counts] = defaultdict(Counts)
    for item in counter.calls.items():
        path, is_forward = item[0].path, item[0].phase == FORWARD
        cost = _added([item])
        own[path, is_forward] += cost
        below["", is_forward] += cost
        while path:
            below[path, is_forward] += cost
            path = path.rpartition(".")[0]
    found = {}
    for path, module in scopes.in_order:
        forward, backward = below[path, True], below[path, False]
        total = forward + backward
        found[path] = ModuleCount(
            total.macs,
            total.elementwise,
            total.bytes,
            path=path,
            module=type(module).__name__,
            calls=scopes.calls[path],
            own=own[path, True] + own[path, False],
            forward=forward,
            backward=backward,
            bound=machine.bound(total.intensity) if machine is not None and total.bytes else "",
        )
    return found


def by_op(counter: OpCounter) -> dict[str, OpCount]:
    """The most expensive first."""
    calls: Counter[str] = Counter()
    costs: dict[str, Counts] = defaultdict(Counts)
    for entry, times in counter.calls.items():
        calls[entry.operation] += times
        costs[entry.operation] += _added([(entry, times)])

    def size(op: str) -> tuple[int, int, int]:
        return costs[op].macs, costs[op].elementwise, costs[op].bytes

    return {op: OpCount(*size(op), calls[op]) for op in sorted(costs, key=size, reverse=True)}


def uncounted(counter: OpCounter) -> tuple[UncountedOp, ...]:
    """With their shares of everything that ran; the largest first."""
    all_calls = sum(counter.calls.values())
    all_bytes = sum(entry.cost.bytes * times for entry, times in counter.calls.items())
    found: dict[str, list[tuple[CountedOperation, int]]] = defaultdict(list)
    for entry, times in counter.calls.items():
        if not entry.cost.counted:
            found[entry.operation].append((entry, times))
    listed = [
        UncountedOp(
            op=op,
            calls=(calls := sum(times for _, times in items)),
            call_share=calls / all_calls,
            bytes=(size := sum(entry.cost.bytes * times for entry, times in items)),
            byte_share=size / all_bytes if all_bytes else 0.0,
            modules=tuple(dict.fromkeys(entry.path for entry, _ in items)),
            places=tuple(place for place in counter.places.get(op, ()) if place.file is not None),
        )
        for op, items in found.items()
    ]
    return tuple(sorted(listed, key=lambda each: (-each.bytes, each.op)))


def _added(items: Iterable[tuple[CountedOperation, int]]) -> Counts:
    macs = elementwise = size = 0
    for entry, times in items:
        macs += entry.cost.macs * times
        elementwise += entry.cost.elementwise * times
        size += entry.cost.bytes * times
    return Counts(macs, elementwise, size)


# Whether a machine's arithmetic or its memory is the limit: the roofline model.
_HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Machine:
    name: str
    peak_flops: float  # FLOPs a second
    bandwidth: float  # bytes a second between memory and chip

    @property
    def ridge(self) -> float:
        """FLOPs that must be done with each byte before arithmetic is the limit."""
        return self.peak_flops / self.bandwidth

    def bound(self, intensity: float) -> str:
        return "compute-bound" if intensity >= self.ridge else "memory-bound"


# As the makers state them: dense 16-bit (tensor cores, sums in 32 bits), 32-bit without TF32, memory.
_DEVICES = {
    "B200": (2250e12, 80e12, 8.0e12),
    "H200": (989e12, 67e12, 4.8e12),
    "H100": (989e12, 67e12, 3.35e12),
    "A100": (312e12, 19.5e12, 2.04e12),
    "A10": (125e12, 31.2e12, 0.6e12),
    "L40S": (362e12, 91.6e12, 0.864e12),
    "L4": (121e12, 30.3e12, 0.3e12),
    "V100": (125e12, 15.7e12, 0.9e12),
    "T4": (65e12, 8.1e12, 0.32e12),
    "RTX 4090": (165e12, 82.6e12, 1.008e12),
    "RTX 3090": (71e12, 35.6e12, 0.936e12),
}


def named_machine(
    device: str | None, peak_flops: float | None, bandwidth: float | None, dtype: torch.dtype | None
) -> Machine | None:
    """A figure that is given goes before the device's own; None where nothing is given."""
    if device is None and peak_flops is None and bandwidth is None:
        return None
    half = single = memory = 0.0
    if device is not None:
        known = {_plain(name): figures for name, figures in _DEVICES.items()}.get(_plain(device))
        if known is None:
            raise UsageError(
                f"no figures are known for {device!r}: give peak_flops and bandwidth, or one of {', '.join(_DEVICES)}."
            )
        half, single, memory = known
    peak = peak_flops or (half if dtype in _HALF else single)
    speed = bandwidth or memory
    if not peak or not speed:
        raise UsageError(
            "a roofline needs both peak_flops (FLOPs a second) and bandwidth (bytes a second), or the name of "
            f"a device: {', '.join(_DEVICES)}."
        )
    return Machine(device or "this machine", peak, speed)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum()).removeprefix("nvidia")
