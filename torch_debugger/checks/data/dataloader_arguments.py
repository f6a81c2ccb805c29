"""How loaders order and cut their batches: sorted classes, one order in every epoch, drop_last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.batches import digest_of, inputs_of, labels_of, line_of, name_of
from torch_debugger.checks.call_edits import loader_with_keyword
from torch_debugger.records import BatchLook, Finding, FixedDraw, LoaderFact, Place, Record, TargetLook

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
            yield from self._judge_targets()
        for number, seen in self._batches.items():
            if number not in self._reported and self._is_sorted(seen):
                yield self._judge(state.loaders[number], [seen[index] for index in sorted(seen)], state.step)

    def _judge_targets(self) -> Iterable[Finding]:
        """Without a loader: what the loss is given, step by step."""
        looks = [look for look in self._targets if look.op == "NllLoss" and look.shape[0] >= self.slice_size]
        single = [next(iter(look.labels)) for look in looks if len(look.labels) == 1]
        where, classes = looks[-1].made if looks else Place(), len(set(single))
        if len(looks) >= self.slices_needed and len(single) >= self.one_class_slices * len(looks) and classes > 1:
            yield self.finding(
                severity="warning",
                confidence=0.88,
                message=f"{len(single)} of {len(looks)} steps that were looked at trained on a single class each, "
                f"{classes} different ones in all: the loss{at_line(where)} is given sorted data.",
                why=_WHY,
                fix="Shuffle before every epoch: `order = torch.randperm(len(x))`, and cut the batches from "
                f"`x[order]` and `y[order]` that reach the loss{at_line(where)}.",
                where=where,
                steps=(looks[0].step, looks[-1].step),
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
            message=f"`{name}`{at_line(where)} is sorted by class and not shuffled: {single} of {len(batches)} batches "
            f"hold one class only, from class {first} to class {last}.",
            why=_WHY,
            fix=f"Shuffle the training data: `shuffle=True` in the DataLoader{at_line(where)}.",
            where=where,
            steps=(1, step),
            evidence={"one_class_batches": float(single), "batches": float(len(batches))},
            edit=loader_with_keyword(where, "shuffle", "True"),
        )


_Pass = tuple[int, int]  # loader, iteration


class SameOrderEachEpoch(Check):
    """Shuffling is on, yet every epoch has the same batches in the same order.

    Symptom:
        The loss curve repeats its bumps at the same place of every epoch, and the model fits the batches
        rather than the samples.
    Evidence:
        shuffle=True or a DistributedSampler, and the first batches of several epochs hold identical samples in
        the same order. Or, with batches cut by hand, a function that the epoch loop calls draws the order from
        a generator that it seeds with the same number each time.
    Fix:
        Seed once, before the first epoch: make the loader and its generator outside of the epoch loop and call
        `torch.manual_seed` only at the start of the script. A DistributedSampler wants `set_epoch(epoch)` in
        every epoch.
    Known limits:
        Only passes that are trained on count. Samples that are changed at random in between hide it.
    """

    id = "TD208"
    name = "same-order-each-epoch"
    title = "shuffling gives the same order in every epoch"
    reads = (BatchLook, FixedDraw)

    passes_needed = 3
    batches_needed = 2  # of a pass

    def __init__(self) -> None:
        self._openings: dict[tuple[object, ...], dict[_Pass, list[BatchLook]]] = {}
        self._reported: set[tuple[object, ...]] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, FixedDraw):
            if record.each == "epoch":
                yield self.finding(
                    severity="warning",
                    confidence=0.9,
                    message=f"`{record.function}`, which every epoch calls{at_line(record.call)}, seeds its generator "
                    f"with the same number each time{at_line(record.seed)}: all epochs have the same batches in "
                    "the same order.",
                    why="Batches then always hold the same samples together, as if the data was shuffled only once.",
                    fix=f"Make the generator once, before the epoch loop, and give it to `{record.function}`, or add "
                    f"the number of the epoch to the seed{at_line(record.seed)}.",
                    where=record.seed,
                    steps=(record.step, record.step),
                    evidence={"function": record.function},
                )
            return
        assert isinstance(record, BatchLook)
        fact = state.loaders.get(record.loader)
        if fact is None or fact.shuffle is not True or not record.trained or not inputs_of(record):
            return
        if record.index >= self.batches_needed or (fact.length or 0) <= self.batches_needed:
            return
        key = (fact.made.file, fact.made.line, fact.base)  # one loader, or one a pass made on the same line
        openings = self._openings.setdefault(key, {})
        openings.setdefault((record.loader, record.iteration), []).append(record)
        if key not in self._reported and self._repeats(openings):
            self._reported.add(key)
            where, name = line_of(fact), name_of(fact)
            cause, fix = _cause_and_fix(fact, len({number for number, _ in openings}) > 1)
            yield self.finding(
                severity="warning",
                confidence=0.93,
                message=f"`{name}`{at_line(where)} is shuffled, but {len(openings)} epochs in a row had the same "
                "batches in the same order.",
                why=f"{cause} Batches then always hold the same samples together, as if nothing was shuffled.",
                fix=fix,
                where=where,
                steps=(next(iter(openings.values()))[0].step, record.step),
                evidence={"epochs": float(len(openings))},
            )

    def _repeats(self, openings: dict[_Pass, list[BatchLook]]) -> bool:
        whole = [looks for looks in openings.values() if len(looks) == self.batches_needed]
        same = {tuple(digest_of(look) for look in looks) for looks in whole}
        return len(whole) >= self.passes_needed and len(same) == 1


def _cause_and_fix(fact: LoaderFact, anew: bool) -> tuple[str, str]:
    where, name = at_line(line_of(fact)), name_of(fact)
    if fact.replicas:
        return (
            "Its DistributedSampler draws the order from its seed and the number of the epoch, which it was "
            "never told.",
            f"Call `set_epoch(epoch)` of the sampler of `{name}`{where} at the beginning of every epoch, "
            f"before the loop over `{name}`.",
        )
    if anew:
        return (
            "The loader is made anew for every epoch, from the same seed.",
            f"Make `{name}`{where} and its generator once, before the epoch loop, and seed only there.",
        )
    return (
        "Its random numbers start from the same seed in every epoch.",
        f"Seed once before the epoch loop: take `manual_seed` out of the loop over `{name}`.",
    )


class DropLastLosesData(Check):
    """A loader with drop_last=True leaves out a large part of its data, always the same one.

    Symptom:
        An epoch has far fewer batches than expected, or none: then the loop over it does nothing, without
        a word.
    Evidence:
        The number of samples, the batch size and drop_last of the loader. Where batches are shuffled every
        epoch leaves out other samples, and only a loader without any batch is reported.
    Fix:
        Leave drop_last out, or use a batch size that is small beside the number of samples.
    Known limits:
        Loaders with a batch sampler of their own, and datasets without a length, are not judged.
    """

    id = "TD211"
    name = "drop-last-loses-data"
    title = "drop_last leaves out most of the data"
    reads = (LoaderFact,)

    # Of the samples; in a fixed order these are never seen. A usual remainder is a few percent.
    lost_share = 0.3

    def see(self, record: LoaderFact, state: RunState) -> Iterable[Finding]:
        if not record.drop_last or not record.samples or not record.batch_size or record.length is None:
            return
        samples = record.samples // max(1, record.replicas)  # a DistributedSampler gives the others to other ranks
        lost = samples - record.length * record.batch_size
        always_the_same = record.shuffle is False and lost >= self.lost_share * samples
        if record.length == 0 or always_the_same:
            where, name = line_of(record), name_of(record)
            share = f"{lost} of {record.samples}"
            leaves_out = (
                f"delivers no batch at all: its {record.samples} samples do not fill one batch of {record.batch_size}"
                if not record.length
                else f"never delivers the last {share} samples: they do not fill a batch of {record.batch_size}"
            )
            line = at_line(where)
            yield self.finding(
                severity="error" if not record.length else "warning",
                confidence=0.97,
                message=f"`{name}`{line} {leaves_out}, and drop_last=True leaves such a batch out.",
                why="drop_last drops the last batch of an epoch when it is not full. In a fixed order that is the "
                "same part of the data every time.",
                fix=f"Remove `drop_last=True`{line}, or take a batch size well below {record.samples} "
                f"(now {record.batch_size}).",
                where=where,
                steps=(max(1, record.step), max(1, record.step)),
                evidence={"lost": float(lost), "samples": float(record.samples or 0)},
                edit=loader_with_keyword(where, "drop_last", "False"),
            )
