"""Profiles made by hand: five steps of 10 ms on a GPU, unless told otherwise."""

from __future__ import annotations

from tests.fakes import place
from torch_debugger.records import CopyTime, LineTime, ProductTime, ProfileFact, SpeedSettings, SyncTime

STEPS = 5


def profile(**others: object) -> ProfileFact:
    facts: dict[str, object] = {
        "first_step": 13,
        "steps": STEPS,
        "wall_s": 0.1,  # the profiler makes the host slower
        "on_device": True,
        "device_busy_s": 0.045,
        "kernels": 500,
        "gap_s": 0.005,
        "lines": (LineTime(place(35, code="loss = criterion(model(x), y)"), 0.01, 0.03, 0.02, STEPS),),
        "modules": (),
        "ops": (),
        "syncs": (),
        "copies": (),
        "cost_s": 0.1,
        "plain_s": 0.01,
    }
    return ProfileFact(**{**facts, **others})  # type: ignore[arg-type]


def settings(**others: object) -> SpeedSettings:
    facts: dict[str, object] = {
        "device": "cuda", "device_name": "NVIDIA H200", "capability": (9, 0), "cores": 16, "threads": 16,
        "tf32_matmul": True, "tf32_cudnn": True, "cudnn_benchmark": False, "deterministic": False,
        "anomaly_mode": False, "step": 4, "device_bytes": 150 * 10**9,
    }  # fmt: skip
    return SpeedSettings(**{**facts, **others})  # type: ignore[arg-type]


def sync(lost_s: float, wait_s: float = 0.02, op: str = "aten::item", count: int = STEPS, **others: str) -> SyncTime:
    return SyncTime(place(40, code=others.get("code", "running += loss.item()")), op, count, wait_s, lost_s)


def copied(device_s: float, size_bytes: int, pinned: bool = False, way: str = "host to device") -> CopyTime:
    where = place(30, code="x = images[start:end].to(device)")
    return CopyTime(where, way, pinned, STEPS, size_bytes, device_s)


def product(
    device_s: float,
    dtype: str = "float32",
    op: str = "aten::addmm",
    shapes: str = "[[4096], [4096, 4096], [4096, 4096]]",
    calls: int = 15,
    line: int = 35,
) -> ProductTime:
    return ProductTime(op, dtype, shapes, place(line, code="loss = criterion(model(x), y)"), calls, device_s)
