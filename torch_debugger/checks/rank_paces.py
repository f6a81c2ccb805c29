"""How long each rank works in a step, without what it waits for others."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from torch_debugger.checks.stacks import LEAST_SAMPLES, HotLine, hot_lines, share_where
from torch_debugger.records import SampledStacks, StackNode

_BEFORE, _AFTER = "split/", "_s"
_BACKWARD, _OWN = "backward", "torch_debugger"
_EVEN = 1.7  # times the step in the middle
_WAITING = ("torch/distributed/", "torch/nn/parallel/distributed.py")


@dataclass
class Pace:
    """The time of one rank's steps by part, in the order in which it was told."""

    MOST = 1000  # entries; of more, every other one is kept. One process keeps those of all ranks.

    steps: list[int] = field(default_factory=list)
    splits: list[dict[str, float]] = field(default_factory=list)

    def add(self, step: int, scalars: Mapping[str, float]) -> None:
        parts = {
            sys.intern(tag[len(_BEFORE) : -len(_AFTER)]): value
            for tag, value in scalars.items()
            if tag.startswith(_BEFORE)
        }
        if not parts:
            return
        parts.pop(_OWN, None)
        self.steps.append(step)
        self.splits.append(parts)
        if len(self.steps) > self.MOST:
            self.steps, self.splits = self.steps[::2], self.splits[::2]

    def per_step_s(self, low: int, high: int) -> dict[str, float]:
        """Mean seconds by part, of steps from `low` up to `high`."""
        told = [split for step, split in zip(self.steps, self.splits, strict=True) if low <= step < high]
        parts = {part for split in told for part in split}
        return {part: statistics.fmean(split.get(part, 0.0) for split in told) for part in parts}

    def is_even(self, low: int, high: int) -> bool:
        """Whether no few steps take most of the time: only of even steps can samples of the whole run tell how
        long each of them waited."""
        took = [
            sum(split.values())
            for step, split in zip(self.steps, self.splits, strict=True)
            if low <= step < high
        ]
        return bool(took) and statistics.fmean(took) <= _EVEN * statistics.median(took)


class DearerLine(NamedTuple):
    line: HotLine
    excess_s: float  # of a step, beyond what it costs the others
    is_shared: bool  # the others come to it too


@dataclass(frozen=True)
class Work:
    """What a rank does in a step, in seconds."""

    parts: dict[str, float]  # all but the backward, in which a rank waits for the others
    waits_s: float  # within those parts, in collectives
    step_s: float

    @property
    def own_s(self) -> float:
        return max(0.0, sum(self.parts.values()) - self.waits_s)


def work_of(pace: Pace, stacks: SampledStacks, low: int, high: int) -> Work | None:
    parts = pace.per_step_s(low, high)
    step_s = sum(parts.values())
    if stacks.samples < LEAST_SAMPLES or step_s <= 0:
        return None
    others = {part: seconds for part, seconds in parts.items() if part != _BACKWARD}
    return Work(others, share_where(stacks, _waits) * step_s, step_s)


def dearer_line(
    slow: tuple[SampledStacks, float], others: list[tuple[SampledStacks, float]]
) -> DearerLine | None:
    """The line that costs one rank most beyond what it costs the others; each is told with the length of its
    steps."""
    stacks, step_s = slow
    elsewhere: dict[tuple[str | None, int | None], list[float]] = {}
    for their_stacks, their_step_s in others:
        for line in hot_lines(their_stacks):
            elsewhere.setdefault((line.place.file, line.place.line), []).append(line.share * their_step_s)
    found = []
    for line in hot_lines(stacks):
        theirs = sum(elsewhere.get((line.place.file, line.place.line), ())) / max(1, len(others))
        if not set(line.called) & {"Tensor.backward", "backward"}:
            found.append(DearerLine(line, line.share * step_s - theirs, theirs > 0))
    return max(found, key=lambda each: each.excess_s, default=None)


def _waits(node: StackNode) -> bool:
    file = (node.place.file or "").replace("\\", "/")
    return any(part in file for part in _WAITING) and "forward" not in node.function
