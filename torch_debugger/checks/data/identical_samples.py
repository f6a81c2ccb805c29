"""TD214: all samples of a batch are the same, but their labels are not."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, line_of, name_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchLook, Finding, LoaderFact, Record, TensorLook


class IdenticalSamples(Check):
    """Every sample of a batch holds the same values, while the targets differ.

    Symptom:
        The loss stays at that of a constant guess: the model cannot tell samples apart that are the same.
    Evidence:
        In batch after batch all samples have one digest, and their labels or targets have several.
    Fix:
        Let the dataset return a tensor of its own for each index: use the index it is given, and `clone()`
        what it keeps and fills again.
    Known limits:
        Batches whose targets are all the same, or with several inputs of which one varies, are not reported.
    """

    id = "TD214"
    name = "identical-samples"
    title = "all samples of a batch are the same"
    reads = (BatchLook,)

    batches_needed = 4  # in a row
    samples_needed = 4  # of each
    elements_needed = 4  # of a sample: one or two numbers may well repeat

    def __init__(self) -> None:
        self._streaks: dict[int, list[BatchLook]] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, BatchLook)
        fact = state.loaders.get(record.loader)
        if fact is None or not record.trained:
            return
        streak = self._streaks.setdefault(record.loader, [])
        if not self._is_uniform(record):
            streak.clear()
            return
        streak.append(record)
        if len(streak) == self.batches_needed:
            yield self._judge(fact, streak)

    def _is_uniform(self, look: BatchLook) -> bool:
        inputs = [tensor for tensor in look.tensors if _elements(tensor) >= self.elements_needed]
        targets = [tensor for tensor in look.tensors if _elements(tensor) == 1]
        alike = all(len(set(tensor.samples)) == 1 and tensor.std > 0 for tensor in inputs)
        many = all(len(tensor.samples) >= self.samples_needed for tensor in inputs)
        differ = any(len(set(tensor.samples or tensor.labels)) > 1 for tensor in targets)
        return bool(inputs) and alike and many and differ and len(inputs) + len(targets) == len(look.tensors)

    def _judge(self, fact: LoaderFact, streak: list[BatchLook]) -> Finding:
        where, name = line_of(fact), name_of(fact)
        count = len(streak[-1].tensors[0].samples)
        return self.finding(
            severity="error",
            confidence=0.93,
            message=(
                f"All {count} samples of a batch from `{name}`{at(where)} are the same although their targets "
                f"differ, in {len(streak)} batches in a row since step {streak[0].step}."
            ),
            why=(
                f"`{fact.dataset}` returns the same values for every index: it does not use the index, or it "
                "returns one tensor that it fills again and again, so that a batch holds the last one many "
                "times."
            ),
            fix=(
                f"In `{fact.dataset}.__getitem__` read the sample of the index it is given and return a tensor "
                f"of its own: `.clone()` a buffer that is filled again. The loader is made{at(where)}."
            ),
            where=where,
            first_step=streak[0].step,
            last_step=streak[-1].step,
            evidence={"samples": float(count), "batches": float(len(streak))},
        )


def _elements(tensor: TensorLook) -> int:
    count = 1
    for size in tensor.shape[1:]:
        count *= size
    return count
