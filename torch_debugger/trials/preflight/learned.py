"""What overfitting one batch has shown: how this model is best trained, for the trials after it."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight.case import Case
from torch_debugger.trials.preflight.fitting import Way, other_way, own_way


@dataclass(frozen=True)
class Learned:
    own: bool  # by the case's own optimizer
    rate: float
    steps: int
    passed: bool

    @staticmethod
    def from_result(result: TrialResult | None) -> Learned:
        """Without a result, as anything would be trained."""
        if result is None or not result.numbers:
            return Learned(False, 1e-3, 100, False)
        numbers = result.numbers
        return Learned(bool(numbers["own"]), numbers["lr"], int(numbers["steps"]), result.outcome == "passed")

    def way(self, case: Case) -> Way:
        own = own_way(case) if self.own else None
        return own or other_way(case, self.rate)
