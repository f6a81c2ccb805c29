"""Training in evaluation mode, and validation or teachers in training mode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.batches import Validations
from torch_debugger.records import Finding, ModeLook, PassCalls, PassFact, Place, QuietModel, Record


@dataclass
class _EvalStreak:
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
        self._streaks: dict[str, _EvalStreak] = {}
        self._reported: set[str] = set()

    def see(self, record: ModeLook, state: RunState) -> Iterable[Finding]:
        streak = self._streaks.setdefault(record.root, _EvalStreak())
        self._count(streak, record)
        enough = streak.looks >= self.looks_needed and streak.updates >= self.updates_needed
        if enough and record.root not in self._reported and self._is_meant(streak, record) is False:
            self._reported.add(record.root)
            assert streak.since is not None
            place = record.evals[0] if record.evals else record.update
            yield self.finding(
                severity="error" if streak.was_trained else "warning",
                confidence=0.96 if streak.was_trained else 0.85,
                message=f"`{record.root}` has been trained in evaluation mode since step {streak.since.step}: "
                f"{_layers(record)} of it did not act in the last {streak.updates} updates{_culprit(record)}.",
                why="`eval()` stays in force until `train()` is called. In evaluation mode dropout passes "
                "everything and batch norm uses its running statistics without learning them.",
                fix=_fix(record, streak.was_trained),
                where=place or Place(module=record.root),
                steps=(streak.since.step, record.step),
                evidence={
                    "eval_calls": float(record.eval_calls),
                    "updates": float(streak.updates),
                    "dropouts": float(record.dropouts),
                    "batch_norms": float(record.norms),
                },
            )

    def _count(self, streak: _EvalStreak, look: ModeLook) -> None:
        if look.train_calls or not look.eval_calls or look.share < self.whole:
            streak.was_trained |= look.train_calls > 0
            streak.since, streak.looks, streak.updates = None, 0, 0
            return
        streak.since = streak.since or look
        streak.looks += 1
        streak.updates += look.updates

    def _is_meant(self, streak: _EvalStreak, look: ModeLook) -> bool:
        """Batch norm alone may be kept as it was loaded, from the first step on."""
        return not streak.was_trained and not look.dropouts and not look.untouched


def _layers(look: ModeLook | PassCalls | QuietModel) -> str:
    """Those that act differently in the two modes."""
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

    def see(self, record: PassFact, state: RunState) -> Iterable[Finding]:
        self._evaluated |= {calls.root for calls in record.calls if calls.eval_only or calls.eval_grad}
        if not self._validations.see(record):
            return
        for calls in record.calls:
            if (
                calls.trained
                and bool(calls.dropouts or calls.norms)
                and calls.train_only + calls.train_grad == record.batches
            ):
                count = self._count[calls.root] = self._count.get(calls.root, 0) + 1
                self._first.setdefault(calls.root, record.step)
                if count >= self.passes_needed and calls.root not in self._reported | self._evaluated:
                    self._reported.add(calls.root)
                    yield self._found(calls, record)

    def _found(self, calls: PassCalls, record: PassFact) -> Finding:
        return self.finding(
            severity="error",
            confidence=0.93,
            message=f"`{calls.root}` is validated in training mode: {_layers(calls)} of it acted in all "
            f"{record.batches} batches of the loop{at_line(record.place)}, since step {self._first[calls.root]}.",
            why="In training mode dropout removes values at random, and batch norm uses the statistics of the "
            "batch and adds them to its own, so the validation data becomes part of the model.",
            fix=_validate_in_eval_mode(calls, record),
            where=calls.uncalled or record.place,
            steps=(self._first[calls.root], record.step),
            evidence={
                "batches": float(record.batches),
                "dropouts": float(calls.dropouts),
                "batch_norms": float(calls.norms),
            },
        )


def _validate_in_eval_mode(calls: PassCalls, record: PassFact) -> str:
    if calls.uncalled:
        return f"Write `{calls.uncalled.code}()`{at_line(calls.uncalled)}: without parentheses it calls nothing."
    return (
        f"Call `{calls.root}.eval()` before the loop{at_line(record.place)}, and "
        f"`{calls.root}.train()` before training goes on."
    )


class TeacherInTrainMode(Check):
    """A model that is not trained takes part in the training of another one in training mode.

    Symptom:
        The student ends worse than it should: what the teacher, or the frozen encoder, says about a sample
        changes from step to step, and with batch norm depends on the rest of the batch.
    Evidence:
        A model with dropout or batch norm that is called without gradients in the steps that train another one.
        Its weights stay the same from look to look, and the layers with two modes are in training mode.
    Fix:
        Call its `eval()` before the loop, and after every `train()` of a module that contains it.
    Known limits:
        Where the trained layers only build on what it makes, as on a frozen encoder, it is noted and no more.
        Averages and target networks, whose weights change, are left alone, as is a copy with the very shapes of
        the trained model, and a model that is asked several times a step: dropout then serves to sample.
    """

    id = "TD145"
    name = "teacher-in-train-mode"
    title = "a frozen teacher or encoder is used in training mode"
    reads = (QuietModel,)
    explains = ("batchnorm-stats-diverge",)

    looks_needed = 2
    # A model that is asked more often in a step is asked for samples.
    most_calls = 2

    def __init__(self) -> None:
        self._looks: dict[str, list[QuietModel]] = {}  # in a row, with dropout or batch norm on
        self._moved: dict[str, int] = {}  # how often a model began to move

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, QuietModel):
            looks = self._looks.setdefault(record.name, [])
            if record.moves and looks:
                self._moved[record.name] = self._moved.get(record.name, 0) + 1
            if record.moves or not record.training or record.twin or record.calls > self.most_calls:
                looks.clear()
            else:
                looks.append(record)

    def finish(self, state: RunState) -> Iterator[Finding]:
        """What rests for a while, as one side of a game does, may move again: only the end can tell."""
        for name, looks in self._looks.items():
            if len(looks) >= self.looks_needed and not self._moved.get(name):
                first, last = looks[0], looks[-1]
                where = first.trains[-1] if first.trains else first.call
                yield self.finding(
                    severity="note" if first.feeds else "warning",
                    confidence=0.88,
                    message=f"`{first.name}` ({first.kind}) is not trained, but called in training mode"
                    f"{at_line(first.call)} since step {first.step}: {_layers(first)} of it "
                    f"acted in all {len(looks)} looks.",
                    why="In training mode dropout removes values at random, and batch norm uses the statistics of the "
                    "batch: the same sample gets another answer every time.",
                    fix=f"Call `{first.name}.eval()` before the training loop, and after each `train()` of a module "
                    "that contains it.",
                    where=where,
                    steps=(first.step, max(last.step, state.step)),
                    evidence={
                        "dropouts": float(first.dropouts),
                        "batch_norms": float(first.norms),
                        "looks": float(len(looks)),
                    },
                )
