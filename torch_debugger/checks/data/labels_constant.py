"""TD204: every sample has the same label."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, labels_of, line_of, name_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchLook, Finding, LoaderFact, Record, TargetLook


class LabelsConstant(Check):
    """All labels of the training data are one and the same class.

    Symptom:
        The loss falls to almost nothing within a few steps and the accuracy is perfect: the model only
        learns to name that class.
    Evidence:
        The labels that the loader delivered, over a whole pass or in random order, and the classes that the
        loss function was given, are all the same.
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

    # Labels seen. In random order even one sample in twenty of another class would have shown by then.
    labels_needed = 96
    losses_needed = 3

    def __init__(self) -> None:
        self._seen: dict[int, dict[int, int]] = {}  # loader -> label -> how often
        self._batches: dict[int, set[int]] = {}  # loader -> the batches of a pass that were looked at
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
        counts = self._seen.setdefault(look.loader, {})
        for label in labels_of(look):
            counts[label] = counts.get(label, 0) + 1
        batches = self._batches.setdefault(look.loader, set())
        batches.add(look.index)
        whole = fact.shuffle is True or (fact.length is not None and len(batches) >= fact.length)
        if len(counts) == 1 and sum(counts.values()) >= self.labels_needed and whole:
            [label] = counts
            if self._is_what_the_loss_gets(label):
                self._reported = True
                yield self._judge(fact, label, counts[label], look.step)

    def _is_what_the_loss_gets(self, label: int) -> bool:
        same = [set(target.labels) == {str(label)} for target in self._targets]
        return len(same) >= self.losses_needed and all(same)

    def _judge(self, fact: LoaderFact, label: int, count: int, step: int) -> Finding:
        where, name = line_of(fact), name_of(fact)
        return self.finding(
            severity="error",
            confidence=0.95,
            message=(
                f"All {count} labels seen from `{name}`{at(where)} are {label}: the model is never shown another "
                "class."
            ),
            why=(
                f"With one class for every sample the loss is least when the model always answers {label}. "
                "It learns that within a few steps and nothing else."
            ),
            fix=(
                f"Print the labels that `{fact.dataset}` returns for a few samples and correct how they are made; "
                f"they reach the loss{at(self._targets[0].made)} as {label} only."
            ),
            where=where,
            first_step=1,
            last_step=step,
            evidence={"label": float(label), "labels_seen": float(count)},
        )
