"""TD135: a model that is validated in training mode."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.schedules import at_line
from torch_debugger.checks.state import RunState
from torch_debugger.checks.validations import Validations
from torch_debugger.records import Finding, PassCalls, PassFact, Record


class TrainModeInValidation(Check):
    """A model with dropout or batch norm is validated while it is in training mode.

    Symptom:
        Validation scores are worse than they should be and change from run to run. With batch norm the
        validation data also leaks into the model: its running statistics learn from it.
    Evidence:
        Complete passes over a loader that is never trained on, in which the model was called in training mode
        for every batch; it was never called in evaluation mode.
    Fix:
        Call `model.eval()` before the validation and `model.train()` after it.
    Known limits:
        Only passes over a DataLoader are judged. Several calls a batch (dropout kept on to sample
        predictions) and passes over the loader the model is trained on (recomputing batch norm) are not
        reported, nor is a model that no optimizer moves (a teacher, a target network).
    """

    id = "TD135"
    name = "train-mode-in-validation"
    title = "a model is validated in training mode"
    reads = (PassFact,)
    explains = ("grad-enabled-in-validation",)

    passes_needed = 2

    def __init__(self) -> None:
        self._validations = Validations()
        self._count: dict[str, int] = {}
        self._first: dict[str, int] = {}
        self._evaluated: set[str] = set()
        self._reported: set[str] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, PassFact)
        self._evaluated |= {calls.root for calls in record.calls if calls.eval_only or calls.eval_grad}
        if not self._validations.see(record):
            return
        for calls in record.calls:
            if self._is_noisy(calls, record):
                count = self._count[calls.root] = self._count.get(calls.root, 0) + 1
                self._first.setdefault(calls.root, record.step)
                if count >= self.passes_needed and calls.root not in self._reported | self._evaluated:
                    self._reported.add(calls.root)
                    yield self._found(calls, record)

    def _is_noisy(self, calls: PassCalls, record: PassFact) -> bool:
        return (
            calls.trained
            and bool(calls.dropouts or calls.norms)
            and calls.train_only + calls.train_grad == record.batches
        )

    def _found(self, calls: PassCalls, record: PassFact) -> Finding:
        kinds = [(calls.dropouts, "layer{} with dropout"), (calls.norms, "batch norm layer{}")]
        layers = " and ".join(
            f"{count} {what.format('s' if count > 1 else '')}" for count, what in kinds if count
        )
        return self.finding(
            severity="error",
            confidence=0.93,
            message=(
                f"`{calls.root}` is validated in training mode: {layers} of it acted in all "
                f"{record.batches} batches of the loop{at_line(record.place)}, since step "
                f"{self._first[calls.root]}."
            ),
            why=(
                "In training mode dropout removes values at random, and batch norm uses the statistics of the "
                "batch and adds them to its own, so the validation data becomes part of the model."
            ),
            fix=_fix(calls, record),
            where=calls.uncalled or record.place,
            first_step=self._first[calls.root],
            last_step=record.step,
            evidence={
                "batches": float(record.batches),
                "dropouts": float(calls.dropouts),
                "batch_norms": float(calls.norms),
            },
        )


def _fix(calls: PassCalls, record: PassFact) -> str:
    if calls.uncalled:
        return (
            f"Write `{calls.uncalled.code}()`{at_line(calls.uncalled)}: without parentheses it calls nothing."
        )
    return (
        f"Call `{calls.root}.eval()` before the loop{at_line(record.place)}, and "
        f"`{calls.root}.train()` before training goes on."
    )
