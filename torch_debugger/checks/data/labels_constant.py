"""TD204: every sample has the same label."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, label_tensor, line_of, name_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchLook, Finding, LoaderFact, Record, TargetLook


class _Labels:
    """The labels of one loader."""

    def __init__(self) -> None:
        self.classes: set[int] = set()
        self.batches: set[int] = set()  # of a pass
        self.count = 0

    def see(self, look: BatchLook) -> None:
        labels = label_tensor(look)
        if labels is not None:
            self.classes |= {labels.lowest, labels.highest}
            self.batches.add(look.index)
            self.count += labels.shape[0]


class LabelsConstant(Check):
    """All labels of the training data are one and the same class.

    Symptom:
        The loss falls to almost nothing within a few steps and the accuracy is perfect: the model only
        learns to name that class.
    Evidence:
        The labels that the loader delivered, over a whole pass or some thousands in random order, and the
        classes that the loss function was given, are all the same.
    Fix:
        Look at how the labels are made: an integer division, a comparison or a folder name that is always
        the same, or an index that is not used.
    Known limits:
        Labels that come from no loader (contrastive losses put the right answer at 0) and losses that are no
        classification are not judged. In a fixed order a whole pass must have been seen.
    """

    id = "TD204"
    name = "labels-constant"
    title = "all labels are the same"
    reads = (BatchLook, TargetLook)

    # Labels seen where no whole pass was: fewer may lack a rare class by chance.
    labels_needed = 2000
    losses_needed = 3

    def __init__(self) -> None:
        self._seen: dict[int, _Labels] = {}  # by loader
        self._targets: list[TargetLook] = []
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, TargetLook):
            self._targets.append(record)
        elif isinstance(record, BatchLook) and record.trained and not self._reported:
            fact = state.loaders.get(record.loader)
            if fact is not None:
                yield from self._count(record, fact)

    def _count(self, look: BatchLook, fact: LoaderFact) -> Iterable[Finding]:
        seen = self._seen.setdefault(look.loader, _Labels())
        seen.see(look)
        whole = fact.length is not None and len(seen.batches) >= fact.length
        if whole and len(seen.classes) == 1 and self._is_what_the_loss_gets(seen):
            self._reported = True
            yield self._judge(fact, seen, look.step)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for number, seen in self._seen.items():
            fact = state.loaders[number]
            enough = seen.count >= self.labels_needed and fact.shuffle is True
            if not self._reported and enough and len(seen.classes) == 1 and self._is_what_the_loss_gets(seen):
                yield self._judge(fact, seen, state.step)

    def _is_what_the_loss_gets(self, seen: _Labels) -> bool:
        same = [set(target.labels) == set(map(str, seen.classes)) for target in self._targets]
        return len(same) >= self.losses_needed and all(same)

    def _judge(self, fact: LoaderFact, seen: _Labels, step: int) -> Finding:
        where, name = line_of(fact), name_of(fact)
        [label] = seen.classes
        return self.finding(
            severity="error",
            confidence=0.95,
            message=(
                f"All {seen.count} labels seen from `{name}`{at(where)} are {label}: the model is never shown "
                "another class."
            ),
            why=(
                f"With one class for every sample the loss is least when the model always answers {label}. "
                "It learns that within a few steps and nothing else."
            ),
            fix=(
                f"Print the labels that `{fact.dataset}` returns for a few samples and correct how they are "
                f"made; they reach the loss{at(self._targets[0].made)} as {label} only."
            ),
            where=where,
            first_step=1,
            last_step=step,
            evidence={"label": float(label), "labels_seen": float(seen.count)},
        )
