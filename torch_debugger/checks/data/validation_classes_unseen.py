"""TD216: validation has classes that training never shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, is_evaluation, labels_of, line_of, name_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchLook, Finding, LoaderFact, Record, TargetLook


@dataclass
class _Classes:
    """The labels of one loader."""

    counts: dict[int, int] = field(default_factory=dict)
    batches: set[int] = field(default_factory=set)
    first_step: int = 0

    def see(self, look: BatchLook) -> None:
        self.first_step = self.first_step or look.step
        self.batches.add(look.index)
        for label in labels_of(look):
            self.counts[label] = self.counts.get(label, 0) + 1


class ValidationClassesUnseen(Check):
    """Validation asks for classes that the training data does not have.

    Symptom:
        The training loss falls as it should; the validation accuracy is near zero from the first epoch to the
        last, and the validation loss grows.
    Evidence:
        The labels of both loaders: a whole pass of training shows none of the classes that most of the
        validation samples have. The loss is a classification, over classes that continue those of training.
    Fix:
        Shuffle before splitting: `random_split`, or `torch.randperm(len(dataset))`, so that both parts have
        all classes.
    Known limits:
        Zero-shot and metric learning hold out classes on purpose: a script whose loss is not a classification,
        and a loader whose name does not say that it validates, are not reported.
    """

    id = "TD216"
    name = "validation-classes-unseen"
    title = "validation has classes that training lacks"
    reads = (BatchLook, TargetLook)
    explains = ("overfits-training-data", "train-validation-overlap")

    unseen_share = 0.5  # of the validation samples
    labels_needed = 16

    def __init__(self) -> None:
        self._trained: dict[int, _Classes] = {}
        self._evaluated: dict[int, _Classes] = {}
        self._classifies = False
        self._reported: set[int] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, TargetLook):
            self._classifies |= record.op == "NllLoss" and bool(record.labels)
            return
        assert isinstance(record, BatchLook)
        if labels_of(record):
            seen = self._trained if record.trained else self._evaluated
            seen.setdefault(record.loader, _Classes()).see(record)
            if not record.trained and record.loader not in self._reported:
                yield from self._compare(record, state)

    def _compare(self, look: BatchLook, state: RunState) -> Iterable[Finding]:
        fact = state.loaders.get(look.loader)
        if fact is None or len(self._trained) != 1 or look.loader in self._trained or not self._classifies:
            return
        [(number, trained)] = self._trained.items()
        rival, evaluated = state.loaders.get(number), self._evaluated[look.loader]
        if rival is None or rival.length is None or len(trained.batches) < rival.length:
            return
        unseen = {label: count for label, count in evaluated.counts.items() if label not in trained.counts}
        total = sum(evaluated.counts.values())
        many = total >= self.labels_needed and sum(unseen.values()) >= self.unseen_share * total
        if many and is_evaluation(name_of(fact)):
            self._reported.add(look.loader)
            yield self._judge(fact, rival, unseen, total, look.step)

    def _judge(
        self, fact: LoaderFact, rival: LoaderFact, unseen: dict[int, int], total: int, step: int
    ) -> Finding:
        where, name, other = line_of(fact), name_of(fact), name_of(rival)
        classes = ", ".join(str(label) for label in sorted(unseen)[:6])
        return self.finding(
            severity="warning",
            confidence=0.9,
            message=(
                f"{sum(unseen.values())} of the {total} labels seen from `{name}`{at(where)} are classes that "
                f"`{other}`{at(line_of(rival))} never has: {classes}."
            ),
            why=(
                "A model cannot learn a class that it is never shown. Data that is sorted by class and cut in "
                "two gives each part classes of its own."
            ),
            fix=(
                "Shuffle before the split, for instance with `torch.utils.data.random_split`, so that "
                f"`{other}` and `{name}`{at(where)} both have all classes."
            ),
            where=where,
            first_step=self._evaluated[fact.number].first_step,
            last_step=step,
            evidence={"unseen": float(sum(unseen.values())), "labels": float(total)},
        )
