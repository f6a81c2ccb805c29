"""The wait for a DataLoader as a trace of the profiler shows it: by step, with the kind of loader alone."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.checks.gains import milliseconds
from torch_debugger.records import TracedTraining

WORKERS = 4  # that are advised where nothing is known of the machine


@dataclass(frozen=True)
class TracedLoading:
    """All times are those of one step, in seconds."""

    training: TracedTraining

    @property
    def step_s(self) -> float:
        return self.training.step_s

    @property
    def wait_s(self) -> float:
        return self.training.seconds.get("data_wait", 0.0) / max(1, self.training.steps)

    @property
    def share(self) -> float:
        return self.wait_s / self.step_s if self.step_s > 0 else 0.0

    def best_s(self, times_as_many: int) -> float:
        """A step with so many times the processes that load: its rest, or as long as loading takes."""
        return max(self.step_s - self.wait_s, self.wait_s / times_as_many)

    @property
    def waits(self) -> str:
        return f"{milliseconds(self.wait_s)} of the {milliseconds(self.step_s)} of a step ({self.share:.0%})"

    def evidence(self, gain: float) -> dict[str, float | str]:
        return {"wait_s": self.wait_s, "step_s": self.step_s, "expected_gain": gain}
