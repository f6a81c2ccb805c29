"""TD209: validation samples are changed at random, as training samples are."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, inputs_of, is_evaluation, labels_of, line_of, name_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchLook, Finding, LoaderFact, Record


class AugmentationOnValidation(Check):
    """Random augmentation is on for the validation data.

    Symptom:
        The validation score is lower than it should be and jumps from epoch to epoch; the best checkpoint
        is picked by luck.
    Evidence:
        The loader reads in a fixed order and is only evaluated. Its first samples have the same labels in every
        pass, but other values each time.
    Fix:
        Give the validation data a transform without random parts. After `random_split` both parts share one
        dataset and its transform: make two datasets and split their indices.
    Known limits:
        Judged for class labels and for loaders whose name says what they are for: where noise is part of the
        task (denoising, masked tokens) fresh noise in validation may be wanted.
    """

    id = "TD209"
    name = "augmentation-on-validation"
    title = "validation data is augmented at random"
    reads = (BatchLook,)

    passes_needed = 3
    labels_needed = 4

    def __init__(self) -> None:
        self._first: dict[int, list[BatchLook]] = {}  # loader -> the first batch of each pass
        self._trained: set[int] = set()
        self._reported: set[int] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, BatchLook)
        if record.trained:
            self._trained.add(record.loader)
        fact = state.loaders.get(record.loader)
        if fact is None or record.index or record.loader in self._trained or record.loader in self._reported:
            return
        looks = self._first.setdefault(record.loader, [])
        looks.append(record)
        if self._is_judged(fact) and self._differ(looks):
            self._reported.add(record.loader)
            yield self._judge(fact, looks, state)

    def _is_judged(self, fact: LoaderFact) -> bool:
        return fact.shuffle is False and is_evaluation(name_of(fact)) and bool(self._trained)

    def _differ(self, looks: list[BatchLook]) -> bool:
        """The same labels each time, and not one sample that came back."""
        if len(looks) < self.passes_needed or len(labels_of(looks[0])) < self.labels_needed:
            return False
        same_labels = len({labels_of(look) for look in looks}) == 1
        digests = [digest for look in looks for digest in set(inputs_of(look)[0].samples)]
        return same_labels and len(set(labels_of(looks[0]))) > 1 and len(set(digests)) == len(digests)

    def _judge(self, fact: LoaderFact, looks: list[BatchLook], state: RunState) -> Finding:
        where, name = line_of(fact), name_of(fact)
        sharing = [state.loaders[number] for number in sorted(self._trained) if number in state.loaders]
        shared = next((name_of(other) for other in sharing if other.base == fact.base), None)
        split = f" It shares its dataset, and so its transform, with `{shared}`." if shared else ""
        return self.finding(
            severity="warning",
            confidence=0.87,
            message=(
                f"The samples of `{name}`{at(where)} are different in each of {len(looks)} validation passes, "
                "with the same labels in the same order: random augmentation is on."
            ),
            why=f"A score on samples that change at random is noisy and lower than the model deserves.{split}",
            fix=(
                f"Build the dataset of `{name}`{at(where)} with a transform that draws no random numbers"
                + (
                    f", apart from that of `{shared}`: two datasets, one split of the indices."
                    if shared
                    else "."
                )
            ),
            where=where,
            first_step=looks[0].step,
            last_step=looks[-1].step,
            evidence={"passes": float(len(looks)), "shared": shared or ""},
        )
