"""TD134: a model that is trained in evaluation mode."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch_debugger.checks.base import Check
from torch_debugger.checks.schedules import at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, ModeLook, Place, Record


@dataclass
class _Streak:
    """Looks in a row that found the model trained in evaluation mode only."""

    was_trained: bool = False  # in training mode, before
    since: ModeLook | None = None
    looks: int = 0
    updates: int = 0


class EvalModeInTraining(Check):
    """A model with dropout or batch norm is trained while it is in evaluation mode.

    Symptom:
        From the first validation on the model overfits more, or learns worse: dropout does nothing and batch
        norm neither uses the batch nor learns its statistics. The loss itself falls, often even faster.
    Evidence:
        Since the look named, every call of the model with autograd on was made in evaluation mode, while the
        optimizer moved all of its parameters. Most telling where it was in training mode before.
    Fix:
        Call `model.train()` at the start of every epoch, not once before the loop: `model.eval()` for a
        validation stays in force until somebody takes it back.
    Known limits:
        Models of which a part is frozen are not judged: there evaluation mode is often meant. The same holds
        where the model itself is in training mode and only some layers are not (batch norm frozen on purpose).
        Dropout by `F.dropout` is not seen.
    """

    id = "TD134"
    name = "eval-mode-in-training"
    title = "a model is trained in evaluation mode"
    reads = (ModeLook,)
    # Batch norm that does not act lets values grow without bounds.
    explains = ("overfits-training-data", "batchnorm-stats-diverge", "lr-too-high", "loss-not-finite")

    # The optimizer moves the whole model: nothing of it is frozen, so nothing is being protected.
    whole = 0.999
    updates_needed = 12
    looks_needed = 3

    def __init__(self) -> None:
        self._streaks: dict[str, _Streak] = {}
        self._reported: set[str] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, ModeLook)
        streak = self._streaks.setdefault(record.root, _Streak())
        self._count(streak, record)
        enough = streak.looks >= self.looks_needed and streak.updates >= self.updates_needed
        if enough and record.root not in self._reported and self._is_meant(streak, record) is False:
            self._reported.add(record.root)
            yield self._found(streak, record)

    def _count(self, streak: _Streak, look: ModeLook) -> None:
        if look.train_calls or not look.eval_calls or look.share < self.whole:
            streak.was_trained |= look.train_calls > 0
            streak.since, streak.looks, streak.updates = None, 0, 0
            return
        streak.since = streak.since or look
        streak.looks += 1
        streak.updates += look.updates

    def _is_meant(self, streak: _Streak, look: ModeLook) -> bool:
        """Batch norm alone may be kept as it was loaded, from the first step on."""
        return not streak.was_trained and not look.dropouts and not look.untouched

    def _found(self, streak: _Streak, look: ModeLook) -> Finding:
        assert streak.since is not None
        place = look.evals[0] if look.evals else look.update
        return self.finding(
            severity="error" if streak.was_trained else "warning",
            confidence=0.96 if streak.was_trained else 0.85,
            message=(
                f"`{look.root}` has been trained in evaluation mode since step {streak.since.step}: "
                f"{_layers(look)} of it did not act in the last {streak.updates} updates{_culprit(look)}."
            ),
            why=(
                "`eval()` stays in force until `train()` is called. In evaluation mode dropout passes "
                "everything and batch norm uses its running statistics without learning them."
            ),
            fix=_fix(look, streak.was_trained),
            where=place or Place(module=look.root),
            first_step=streak.since.step,
            last_step=look.step,
            evidence={
                "eval_calls": float(look.eval_calls),
                "updates": float(streak.updates),
                "dropouts": float(look.dropouts),
                "batch_norms": float(look.norms),
            },
        )


def _layers(look: ModeLook) -> str:
    parts = [(look.dropouts, "layer{} with dropout"), (look.norms, "batch norm layer{}")]
    return " and ".join(f"{count} {what.format('s' if count > 1 else '')}" for count, what in parts if count)


def _culprit(look: ModeLook) -> str:
    return f"; `{look.evals[0].code}`{at_line(look.evals[0])} was not taken back" if look.evals else ""


def _fix(look: ModeLook, was_trained: bool) -> str:
    loop = f"the loop over the batches that has the update{at_line(look.update)}"
    if look.trains:
        call = look.trains[-1]
        return f"Move `{call.code}`{at_line(call)} into the epoch, before {loop}."
    if not was_trained and len(look.evals) == 1 and look.evals[0].code != "self.eval()":
        call = look.evals[0]
        code = (call.code or "").replace("eval()", "train()")
        return f"Write `{code}` in place of `{call.code}`{at_line(call)}."
    return f"Call `{look.root}.train()` at the start of every epoch, before {loop}."
