"""What overfitting one batch has shown: how this model is best trained, for the trials after it."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight.case import Case, NotPossibleError
from torch_debugger.trials.preflight.fitting import Way, other_way, own_way

NOISY = 0.3  # from here on a loss changes by chance


@dataclass(frozen=True)
class Learned:
    own: bool  # by the case's own optimizer
    rate: float
    steps: int
    passed: bool
    noise: float = 0.0  # of the loss, beside its size
    binding: bool = True  # the loss is meant to fall

    @staticmethod
    def from_result(result: TrialResult | None) -> Learned:
        """Without a result, as anything would be trained."""
        if result is None or not result.numbers:
            return Learned(False, 1e-3, 100, False)
        numbers = result.numbers
        return Learned(
            own=bool(numbers["own"]),
            rate=numbers["lr"],
            steps=int(numbers["steps"]),
            passed=result.outcome == "passed",
            noise=numbers["noise"],
            binding=bool(numbers["binding"]),
        )

    def require_calm(self) -> None:
        if self.noise > NOISY:
            raise NotPossibleError(
                "The loss changes by chance from step to step, so that nothing can be compared."
            )

    def way(self, case: Case) -> Way:
        own = own_way(case) if self.own else None
        return own or other_way(case, self.rate)
