"""TD136: validation passes that build graphs nobody uses."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.schedules import at_line
from torch_debugger.checks.state import RunState
from torch_debugger.checks.validations import Validations
from torch_debugger.records import Finding, PassCalls, PassFact, Record


class GradEnabledInValidation(Check):
    """Validation runs with autograd on: every batch builds a graph that nobody uses.

    Symptom:
        Validation needs about as much memory as training and runs out of it with a larger batch; it is slower
        than it need be. The scores are right.
    Evidence:
        Complete passes over a loader that is never trained on, in which the model was called with autograd on
        for every batch and no backward() came.
    Fix:
        Put the loop into `with torch.no_grad():`, or `@torch.no_grad()` on the function.
    Known limits:
        Only passes over a DataLoader are judged. Where the script or the model asks for gradients itself
        (`torch.autograd.grad`, inputs that require a gradient), nothing is said.
    """

    id = "TD136"
    name = "grad-enabled-in-validation"
    title = "validation runs with autograd on"
    reads = (PassFact,)

    passes_needed = 2
    # A validation this small beside the training costs too little to warn about.
    warned_share = 0.05

    def __init__(self) -> None:
        self._validations = Validations()
        self._passes = 0
        self._first = 0
        self._training = 0
        self._wasted = 0
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, PassFact)
        if not self._validations.see(record):
            self._training += record.batches
            return
        wasteful = [calls for calls in record.calls if self._is_wasteful(calls, record)]
        if not wasteful or record.asks_gradients:
            return
        self._first = self._first or record.step
        self._passes += 1
        self._wasted += record.batches
        if self._passes >= self.passes_needed and not self._reported:
            self._reported = True
            yield self._found(wasteful[0], record)

    def _is_wasteful(self, calls: PassCalls, record: PassFact) -> bool:
        return calls.trained and calls.eval_grad + calls.train_grad >= max(1, record.batches)

    def _found(self, calls: PassCalls, record: PassFact) -> Finding:
        share = self._wasted / max(1, self._training + self._wasted)
        return self.finding(
            severity="warning" if share >= self.warned_share else "note",
            confidence=0.93,
            message=(
                f"Validation runs with autograd on: all {record.batches} batches of the loop"
                f"{at_line(record.place)} built a graph of `{calls.root}` that no backward() used, since step "
                f"{self._first}."
            ),
            why=(
                "With autograd on every layer keeps what a backward pass would need. That takes the memory of "
                "a training step and some of its time."
            ),
            fix=f"Put the loop{at_line(record.place)} inside `with torch.no_grad():`.",
            where=record.place,
            first_step=self._first,
            last_step=record.step,
            evidence={"batches": float(record.batches), "share_of_batches": share},
        )
