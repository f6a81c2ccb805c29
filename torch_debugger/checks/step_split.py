"""What the steps of a run spent their time on, as far as it was told; summed up for checks of speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_BEFORE, _AFTER = "split/", "_s"
OWN = "torch_debugger"


@dataclass
class StepSplit:
    """Seconds by part: data_wait, copy, forward, backward, optimizer, evaluation, logging, other. What watching
    took is left out: it is no time of the user's."""

    seconds: dict[str, float] = field(default_factory=dict)
    steps: int = 0
    last_step: int = 0
    settled: bool = False  # the steps of a trace: the profiler's schedule has left out the first ones
    queued_s: float = 0.0  # since the thread began, in line for a core that others used

    def add(self, step: int, scalars: Mapping[str, float]) -> None:
        """A split that is told is the mean over the steps since the last one."""
        parts = {
            tag[len(_BEFORE) : -len(_AFTER)]: value for tag, value in scalars.items() if tag.startswith(_BEFORE)
        }
        if not parts:
            return
        self.queued_s = scalars.get("time/queued_s", self.queued_s)
        since = max(1, step - self.last_step) if self.last_step else 1
        self.steps, self.last_step = self.steps + since, step
        for part, seconds in parts.items():
            if part != OWN:
                self.seconds[part] = self.seconds.get(part, 0.0) + seconds * since

    @property
    def total_s(self) -> float:
        return sum(self.seconds.values())

    def share(self, *parts: str) -> float:
        """Of all the time that was told."""
        total_s = self.total_s
        return sum(self.seconds.get(part, 0.0) for part in parts) / total_s if total_s > 0 else 0.0

    def per_step_s(self, *parts: str) -> float:
        return sum(self.seconds.get(part, 0.0) for part in parts) / self.steps if self.steps else 0.0

    def is_enough(self, least_s: float = 1.5, least_steps: int = 10) -> bool:
        """To judge speed by: the first steps, and short runs, are slow for reasons of their own."""
        enough = self.total_s >= least_s and self.steps >= least_steps
        return enough or (self.settled and self.steps > 1)
