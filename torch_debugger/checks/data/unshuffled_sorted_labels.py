"""TD205: the training goes through one class after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, labels_of, line_of, name_of
from torch_debugger.checks.loader_call import with_keyword
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchLook, Finding, LoaderFact, Record, TargetLook

_WHY = (
    "Each step then pulls the model towards the class of its batch and away from all others; what it learned "
    "of the first classes is gone when the last ones come."
)


class UnshuffledSortedLabels(Check):
    """The data is sorted by class and trained in that order, without shuffling.

    Symptom:
        The loss is tiny within a class and jumps when the next one begins; the finished model favours
        the last class.
    Evidence:
        The loader goes through its dataset in order, most batches hold a single class, and the labels only
        go up (or only down) from batch to batch. Without a loader: nearly every look at what the loss is
        given shows one class, and not always the same.
    Fix:
        Shuffle the training data: `DataLoader(..., shuffle=True)`, or a new `torch.randperm` for every epoch.
    Known limits:
        Only loaders that read in order are judged; a sampler that the script itself chose is taken as
        intended. Labels must be whole numbers.
    """

    id = "TD205"
    name = "unshuffled-sorted-labels"
    title = "sorted data is not shuffled"
    reads = (BatchLook, TargetLook)
    explains = ("lr-too-high",)

    batches_needed = 4  # with several classes among them
    one_class_share = 0.7  # of the batches; the others lie on a border
    # Without a loader only what the loss is given tells: looks at batches of this size at least.
    slices_needed = 6
    slice_size = 8
    one_class_slices = 0.9

    def __init__(self) -> None:
        self._batches: dict[int, dict[int, tuple[int, ...]]] = {}  # loader -> index -> labels
        self._classifies = False
        self._targets: list[TargetLook] = []
        self._reported: set[int] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, TargetLook):
            self._classifies |= bool(record.labels)
            self._targets.append(record)
            return
        assert isinstance(record, BatchLook)
        fact = state.loaders.get(record.loader)
        labels = labels_of(record)
        if fact is None or fact.shuffle is not False or not record.trained or not labels:
            return
        seen = self._batches.setdefault(record.loader, {})
        seen.setdefault(record.index, labels)
        last = fact.length is not None and record.index == fact.length - 1
        if (last or record.iteration > 1) and record.loader not in self._reported and self._is_sorted(seen):
            self._reported.add(record.loader)
            yield self._judge(fact, [seen[index] for index in sorted(seen)], record.step)

    def finish(self, state: RunState) -> Iterable[Finding]:
        if not state.loaders and len(state.sites) <= 1:
            yield from self._judge_slices()
        for number, seen in self._batches.items():
            if number not in self._reported and self._is_sorted(seen):
                yield self._judge(state.loaders[number], [seen[index] for index in sorted(seen)], state.step)

    def _judge_slices(self) -> Iterable[Finding]:
        """Without a loader: what the loss is given, step by step."""
        looks = [look for look in self._targets if look.op == "NllLoss" and look.shape[0] >= self.slice_size]
        single = [next(iter(look.labels)) for look in looks if len(look.labels) == 1]
        if (
            len(looks) >= self.slices_needed
            and len(single) >= self.one_class_slices * len(looks)
            and len(set(single)) > 1
        ):
            yield self._judge_targets(looks, single)

    def _judge_targets(self, looks: Sequence[TargetLook], single: Sequence[str]) -> Finding:
        where = looks[-1].made
        classes = len(set(single))
        return self.finding(
            severity="warning",
            confidence=0.88,
            message=(
                f"{len(single)} of {len(looks)} steps that were looked at trained on a single class each, "
                f"{classes} different ones in all: the loss{at(where)} is given sorted data."
            ),
            why=_WHY,
            fix=(
                "Shuffle before every epoch: `order = torch.randperm(len(x))`, and cut the batches from "
                f"`x[order]` and `y[order]` that reach the loss{at(where)}."
            ),
            where=where,
            first_step=looks[0].step,
            last_step=looks[-1].step,
            evidence={"one_class_steps": float(len(single)), "steps": float(len(looks))},
        )

    def _is_sorted(self, seen: dict[int, tuple[int, ...]]) -> bool:
        batches = [seen[index] for index in sorted(seen)]
        row = [label for labels in batches for label in labels]
        single = [labels[0] for labels in batches if len(set(labels)) == 1]
        enough = len(batches) >= self.batches_needed and len(set(single)) > 1
        mostly = len(single) >= self.one_class_share * len(batches)
        return self._classifies and enough and mostly and row in (sorted(row), sorted(row, reverse=True))

    def _judge(self, fact: LoaderFact, batches: Sequence[tuple[int, ...]], step: int) -> Finding:
        where, name = line_of(fact), name_of(fact)
        single = sum(len(set(labels)) == 1 for labels in batches)
        first, last = batches[0][0], batches[-1][-1]
        return self.finding(
            severity="warning",
            confidence=0.93,
            message=(
                f"`{name}`{at(where)} is sorted by class and not shuffled: {single} of {len(batches)} batches "
                f"hold one class only, from class {first} to class {last}."
            ),
            why=_WHY,
            fix=f"Shuffle the training data: `shuffle=True` in the DataLoader{at(where)}.",
            where=where,
            first_step=1,
            last_step=step,
            evidence={"one_class_batches": float(single), "batches": float(len(batches))},
            edit=with_keyword(where, "shuffle", "True"),
        )
