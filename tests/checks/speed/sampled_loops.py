"""A training loop as its sampled stacks and the split of its steps tell of it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fakes import cost, place, scalars
from torch_debugger.records import LossSite, Place, Record, SampledStacks, SpeedSettings, StackNode

LOOP = place(10, code="for step in range(1000):")


@dataclass(frozen=True)
class Users:
    line: int
    code: str
    loops: tuple[Place, ...] = (LOOP,)
    condition: int = 0


@dataclass(frozen=True)
class Library:
    function: str
    file: str


UPDATE = Library("Optimizer.profile_hook_step.<locals>.wrapper", "/lib/torch/optim/optimizer.py")
BACKWARD = Users(14, "loss.backward()")
STEP = Users(15, "optimizer.step()")

Path = tuple[Users | Library, ...]


def sampled(paths: dict[Path, int], step: int = 100) -> SampledStacks:
    """Each path of calls with the samples that ended there; the loop's own work fills them up to 100."""
    rest = 100 - sum(paths.values())
    everything = {**paths, (BACKWARD,): rest - rest // 2, (STEP, UPDATE): rest // 2}
    nodes: list[StackNode] = []
    for path, samples in everything.items():
        parent = -1
        for depth, part in enumerate(path):
            nodes.append(_node(part, parent, samples if depth == len(path) - 1 else 0, samples))
            parent = len(nodes) - 1
    return SampledStacks("training", sum(everything.values()), 0.02, step, tuple(nodes))


def _node(part: Users | Library, parent: int, ended: int, samples: int) -> StackNode:
    if isinstance(part, Users):
        at = place(part.line, code=part.code)
        return StackNode(parent, "train", at, True, ended, samples, part.loops, part.condition)
    return StackNode(parent, part.function, Place(part.file, 1), False, ended, samples)


def steps(count: int = 200, **parts_s: float) -> list[Record]:
    """Splits of that many steps, of 20 ms each if nothing else is said."""
    parts = parts_s or {"forward": 0.008, "backward": 0.012}
    tags = {f"split/{part}_s": seconds for part, seconds in parts.items()}
    return [scalars(number, tags, loss=1.0) for number in range(1, count + 1)]


def training(paths: dict[Path, int], count: int = 200, **parts_s: float) -> list[Record]:
    site = LossSite("loss", place(14, code="loss.backward()"), 1, LOOP)
    return [site, *steps(count, **parts_s), sampled(paths), cost()]


def speed_settings(device: str = "cpu", anomaly_mode: bool = False, anomaly_at: Place | None = None) -> SpeedSettings:
    return SpeedSettings(
        device=device, device_name="", capability=(0, 0), cores=2, threads=2, tf32_matmul=False,
        tf32_cudnn=True, cudnn_benchmark=False, deterministic=False, anomaly_mode=anomaly_mode, step=4,
        anomaly_at=anomaly_at or Place(),
    )  # fmt: skip
