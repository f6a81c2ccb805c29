"""What `flops` gives: counts by phase, module and operation, and what could not be counted."""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass
from typing import Any

from torch_debugger.anatomy.counting.rooflines import Machine
from torch_debugger.records import Place


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
        from torch_debugger.anatomy.flop_table import flop_table

        return flop_table(self, depth)

    def __str__(self) -> str:
        return self.table(depth=2)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON."""
        return {
            "model": self.model,
            "macs": self.macs,
            "flops": self.flops,
            "elementwise": self.elementwise,
            "bytes": self.bytes,
            "intensity": self.intensity,
            "forward": self.forward.to_dict(),
            "backward": None if self.backward is None else self.backward.to_dict(),
            "recomputed": self.recomputed.to_dict(),
            "by_module": {path: count.to_dict() for path, count in self.by_module.items()},
            "by_op": {op: count.to_dict() for op, count in self.by_op.items()},
            "uncounted": [asdict(each) for each in self.uncounted],
            "machine": None if self.machine is None else asdict(self.machine),
            "note": self.note,
        }
