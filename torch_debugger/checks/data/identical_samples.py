"""Batches and samples that are always the same."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.batches import digest_of, inputs_of, line_of, name_of
from torch_debugger.checks.call_edits import edit_line
from torch_debugger.records import BatchLook, Finding, FixedDraw, InputLook, LoaderFact, Record, TargetLook

_NEXT_OF_ITER = re.compile(r"^(?P<names>[\w, ()]+?)\s*=\s*next\(\s*iter\(\s*(?P<loader>[\w.]+)\s*\)\s*\)$")
_LOOP = re.compile(r"^for (?P<names>.+?) in .+:")


class ConstantBatch(Check):
    """The model is trained on one and the same batch, step after step.

    Symptom:
        The training loss falls to almost nothing, quickly; on any other data the model is no better
        than at the start.
    Evidence:
        A loader of several batches is started anew in every step and only its first batch is taken; or
        the loader goes on from batch to batch while the model's input stays one that came long ago.
        Batches are compared by digests of their samples. Or the input never changes and a function that the
        loop calls for each batch seeds its generator with the same number every time.
    Fix:
        Loop over the loader (`for x, y in loader:`) and give the model the names of that loop.
    Known limits:
        A batch taken once before the loop, to see whether the model can fit it, is not reported, nor is a
        loader with a single batch. Without a DataLoader nothing is known of other batches.
    """

    id = "TD201"
    name = "constant-batch"
    title = "every step trains on the same batch"
    reads = (BatchLook, InputLook, FixedDraw)

    # Steps in a row; a short sanity run on one batch has as many, but does not ask the loader again.
    steps_needed = 6
    inputs_needed = 3

    def __init__(self) -> None:
        self._restarts: dict[int, list[BatchLook]] = {}
        self._inputs: list[InputLook] = []
        self._origin: dict[tuple[int, ...], BatchLook] = {}  # samples -> the batch they came with
        self._moved: dict[int, int] = {}  # loader -> batches unlike the model's input since that came
        self._moved_then: dict[int, int] = {}  # the same, at the last look at an input
        self._draw: FixedDraw | None = None
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if self._reported:
            return
        if isinstance(record, FixedDraw):
            self._draw = record if record.each == "step" else self._draw
        elif isinstance(record, BatchLook):
            yield from self._see_batch(record, state)
        elif isinstance(record, InputLook):
            if self._inputs and self._inputs[-1].samples != record.samples:
                self._inputs.clear()
                self._moved.clear()
            self._inputs.append(record)
            steps = {given.step for given in self._inputs}
            if self._draw is not None and record.samples and len(steps) >= self.inputs_needed:
                yield self._drawn_again(self._draw, record, len(steps))
                return
            self._moved_then = dict(self._moved)
            yield from self._compare(state)

    def _see_batch(self, look: BatchLook, state: RunState) -> Iterable[Finding]:
        for tensor in inputs_of(look):
            if len(self._origin) < 64:
                self._origin.setdefault(tensor.samples, look)
        if self._inputs and all(tensor.samples != self._inputs[-1].samples for tensor in inputs_of(look)):
            self._moved[look.loader] = self._moved.get(look.loader, 0) + 1
            yield from self._compare(state)
        fact = state.loaders.get(look.loader)
        if fact is not None and fact.length != 1 and inputs_of(look):
            self._count(look)
            streak = self._restarts[look.loader]
            if len(streak) < self.steps_needed:
                return
            # It is this batch that the model gets, and not one of another loader beside it.
            known = {given.samples for given in self._inputs if given.samples}
            trains = {tensor.samples for tensor in inputs_of(look)} >= known if known else len(self._restarts) == 1
            if trains:
                self._reported = True
                name, last = name_of(fact), streak[-1]
                written = _NEXT_OF_ITER.match(fact.place.code or "")
                loop = f"for {written['names']} in {written['loader']}:" if written else f"for batch in {name}:"
                others = f"the other {fact.length - 1} batches" if fact.length else "all other batches"
                yield self.finding(
                    severity="error",
                    confidence=0.95,
                    message=f"Every step since step {streak[0].step} trains on the first batch of `{name}`: the line"
                    f"{at_line(fact.place)} starts the loader anew each time, and {others} are never used.",
                    why=f"`next(iter({name}))` makes a new iterator and takes its first batch. Without shuffling that "
                    f"is always the same one; {len(streak)} steps in a row were given identical samples.",
                    fix=f"Loop over the loader: `{loop}` in place of `next(iter(...))`{at_line(fact.place)}.",
                    where=fact.place,
                    steps=(streak[0].step, last.step),
                    evidence={"steps": float(len(streak)), "batches": float(fact.length or 0)},
                    edit=edit_line(fact.place, loop) if written else None,
                )

    def _count(self, look: BatchLook) -> None:
        streak = self._restarts.setdefault(look.loader, [])
        before = streak[-1] if streak else None
        same = before is not None and digest_of(before) == digest_of(look) and before.step < look.step
        if look.index or not look.trained or (before is not None and not same):
            streak.clear()
        if not look.index and look.trained:
            streak.append(look)

    def _compare(self, state: RunState) -> Iterable[Finding]:
        """The loader had moved on between the looks at the input already, and has since."""
        look = self._inputs[-1]
        origin, steps = self._origin.get(look.samples), {given.step for given in self._inputs}
        fact = state.loaders.get(origin.loader) if origin is not None else None
        if origin is None or fact is None or len(steps) < self.inputs_needed:
            return
        # On two steps that follow one another; looks an epoch apart meet the same batch of a fixed order.
        if not any(step + 1 in steps for step in steps):
            return
        between, in_all = (moved.get(origin.loader, 0) for moved in (self._moved_then, self._moved))
        if between >= len(steps) - 1 and in_all >= self.steps_needed:
            yield self._left_behind(fact, look, origin)

    def _drawn_again(self, draw: FixedDraw, look: InputLook, steps: int) -> Finding:
        self._reported = True
        return self.finding(
            severity="error",
            confidence=0.95,
            message=f"`{draw.function}`, which every step calls{at_line(draw.call)}, seeds its generator with the same "
            f"number each time{at_line(draw.seed)}: all {steps} batches that were looked at are the same.",
            why="From the same seed the same samples are drawn; the rest of the data is never used.",
            fix=f"Make the generator once, outside of `{draw.function}`, or take the seed out of "
            f"it{at_line(draw.seed)}.",
            where=draw.seed,
            steps=(self._inputs[0].step, look.step),
            evidence={"looks": float(steps), "function": draw.function},
        )

    def _left_behind(self, fact: LoaderFact, look: InputLook, origin: BatchLook) -> Finding:
        self._reported = True
        root, moved = look.layer.split(".")[0], self._moved[origin.loader]
        loop = _LOOP.match(fact.place.code or "")
        names = f"`{loop['names']}` of the line{at_line(fact.place)}" if loop else f"each batch of `{name_of(fact)}`"
        first = self._inputs[0].step
        return self.finding(
            severity="error",
            confidence=0.92,
            message=f"`{root}`{at_line(look.call)} is given the same batch since step {first}, while `{name_of(fact)}` "
            f"has delivered {moved} others.",
            why="The input is a batch that the loader delivered before; those of the loop are not used. "
            "A variable of an earlier line stands where the loop's own should.",
            fix=f"Give `{root}`{at_line(look.call)} {names} in place of the older one it gets now.",
            where=look.call,
            steps=(first, look.step),
            evidence={"looks": float(len(self._inputs)), "batches": float(moved)},
        )


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
        self._reported = False

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
            yield from self.finish(state)
        else:
            self._given.clear()

    def finish(self, state: RunState) -> Iterable[Finding]:
        long_enough = state.step >= self.steps_needed and len(self._given) >= self.looks_needed
        if long_enough and not self._reported:
            self._reported = True
            look = self._given[-1]
            model, count = look.layer.split(".")[0], len(look.samples)
            where = look.repeated_at if look.repeated_at.file else look.call
            yield self.finding(
                severity="error",
                confidence=0.9,
                message=f"All {count} samples that `{model}` is given{at_line(look.call)} are the same although their "
                f"labels differ, on {len(self._given)} looks in a row since step {self._given[0].step}.",
                why="What the batches are cut from holds one sample many times: `[row] * n` makes n names for one "
                "row, and a buffer that is filled again changes all that was kept of it.",
                fix=f"Make a row for each sample{at_line(where)}: `[make_row() for _ in range(n)]` in place of "
                "`[row] * n`, and `.copy()` or `.clone()` a buffer that is filled again.",
                where=where,
                steps=(self._given[0].step, look.step),
                evidence={"samples": float(count), "looks": float(len(self._given))},
            )

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
            where, name = line_of(fact), name_of(fact)
            count = len(streak[-1].tensors[0].samples)
            yield self.finding(
                severity="error",
                confidence=0.93,
                message=f"All {count} samples of a batch from `{name}`{at_line(where)} are the same although their "
                f"targets differ, in {len(streak)} batches in a row since step {streak[0].step}.",
                why=f"`{fact.dataset}` returns the same values for every index: it does not use the index, or it "
                "returns one tensor that it fills again and again, so that a batch holds the last one many times.",
                fix=f"In `{fact.dataset}.__getitem__` read the sample of the index it is given and return a tensor "
                f"of its own: `.clone()` a buffer that is filled again. The loader is made{at_line(where)}.",
                where=where,
                steps=(streak[0].step, streak[-1].step),
                evidence={"samples": float(count), "batches": float(len(streak))},
            )

    def _is_uniform(self, look: BatchLook) -> bool:
        inputs = [tensor for tensor in look.tensors if math.prod(tensor.shape[1:]) >= self.elements_needed]
        targets = [tensor for tensor in look.tensors if math.prod(tensor.shape[1:]) == 1]
        alike = all(len(set(tensor.samples)) == 1 and tensor.std > 0 for tensor in inputs)
        many = all(len(tensor.samples) >= self.samples_needed for tensor in inputs)
        differ = any(len(set(tensor.samples or tensor.labels)) > 1 for tensor in targets)
        return bool(inputs) and alike and many and differ and len(inputs) + len(targets) == len(look.tensors)
