"""TD214: all samples of a batch are the same, but their labels are not."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, line_of, name_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchLook, Finding, InputLook, LoaderFact, Record, TargetLook, TensorLook


class IdenticalSamples(Check):
    """Every sample of a batch holds the same values, while the targets differ.

    Symptom:
        The loss stays at that of a constant guess: the model cannot tell samples apart that are the same.
    Evidence:
        In batch after batch all samples have one digest, and their labels or targets have several. Without a
        loader: so has the only input of the model, while the labels of the loss differ.
    Fix:
        Let the dataset return a tensor of its own for each index: use the index it is given, and `clone()`
        what it keeps and fills again.
    Known limits:
        Batches whose targets are all the same, or with several inputs of which one varies, are not reported.
    """

    id = "TD214"
    name = "identical-samples"
    title = "all samples of a batch are the same"
    reads = (BatchLook, InputLook, TargetLook)

    batches_needed = 4  # in a row
    looks_needed = 3  # the same, of inputs
    samples_needed = 4  # of each
    elements_needed = 4  # of a sample: one or two numbers may well repeat

    steps_needed = 10  # of a try with a handful, nothing is lost

    def __init__(self) -> None:
        self._streaks: dict[int, list[BatchLook]] = {}
        self._input: InputLook | None = None
        self._given: list[InputLook] = []  # inputs of equal samples, with labels that differ
        self._told = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, InputLook):
            self._input = record
        elif isinstance(record, TargetLook):
            yield from self._see_target(record, state)
        elif isinstance(record, BatchLook):
            yield from self._see_batch(record, state)

    def _see_target(self, target: TargetLook, state: RunState) -> Iterable[Finding]:
        look = self._input
        if state.loaders or look is None or look.step != target.step or look.tensors != 1:
            return
        many = len(look.samples) >= self.samples_needed and math.prod(look.shape[1:]) >= self.elements_needed
        one_each = target.shape[:1] == look.shape[:1]  # and not one for each token
        if many and one_each and len(set(look.samples)) == 1 and look.std > 0 and len(target.labels) > 1:
            self._given.append(look)
            yield from self._tell_input(state)
        else:
            self._given.clear()

    def _tell_input(self, state: RunState) -> Iterable[Finding]:
        long_enough = state.step >= self.steps_needed and len(self._given) >= self.looks_needed
        if long_enough and not self._told:
            self._told = True
            yield self._judge_input(self._given[-1])

    def finish(self, state: RunState) -> Iterable[Finding]:
        return self._tell_input(state)

    def _see_batch(self, record: BatchLook, state: RunState) -> Iterable[Finding]:
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

    def _judge_input(self, look: InputLook) -> Finding:
        model, count = look.layer.split(".")[0], len(look.samples)
        where = look.repeated_at if look.repeated_at.file else look.call
        return self.finding(
            severity="error",
            confidence=0.9,
            message=(
                f"All {count} samples that `{model}` is given{at(look.call)} are the same although their "
                f"labels differ, on {len(self._given)} looks in a row since step {self._given[0].step}."
            ),
            why=(
                "What the batches are cut from holds one sample many times: `[row] * n` makes n names for one "
                "row, and a buffer that is filled again changes all that was kept of it."
            ),
            fix=(
                f"Make a row for each sample{at(where)}: `[make_row() for _ in range(n)]` in place of "
                "`[row] * n`, and `.copy()` or `.clone()` a buffer that is filled again."
            ),
            where=where,
            first_step=self._given[0].step,
            last_step=look.step,
            evidence={"samples": float(count), "looks": float(len(self._given))},
        )

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
