"""Validation data: overlap with the training data, unseen classes, augmentation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.batches import inputs_of, is_evaluation, labels_of, line_of, name_of
from torch_debugger.records import BatchLook, Finding, LoaderFact, Place, Record, TargetLook

_SETTINGS = re.compile(r"\bparse_args\(|\bArgumentParser\(")  # what they read is no data
_SEVERAL = re.compile(r"[\w.]+, *[\w., ]+=[^=]")  # train, val = ...


@dataclass
class _Samples:
    """Digests of what one loader delivered."""

    digests: set[int] = field(default_factory=set)
    count: int = 0  # in the first pass, and how many of them were new
    distinct: int = 0
    varied: bool = True

    def see(self, look: BatchLook) -> None:
        tensor = inputs_of(look)[0]
        self.varied = self.varied and tensor.varied
        before = len(self.digests)
        self.digests |= set(tensor.samples)
        if look.iteration == 1:  # later ones repeat what was there
            self.count += len(tensor.samples)
            self.distinct += len(self.digests) - before

    def tells_apart(self, share: float) -> bool:
        """Whether a digest stands for one sample: tiny vocabularies and blank samples repeat themselves."""
        return self.varied or (bool(self.count) and len(self.digests) >= share * self.count)


class TrainValidationOverlap(Check):
    """Samples of the validation data are in the training data too.

    Symptom:
        Validation looks as good as training, to the last epoch; on new data the model is much worse.
    Evidence:
        Digests of whole samples from the loader that is trained on and from the one that is only evaluated.
        Both tell their samples apart, and a large part of the second is in the first.
    Fix:
        Split once, before anything else, with `random_split(dataset, [n_train, n_val])`, and give each
        loader its part. Rare samples are repeated after that, in the training part alone.
    Known limits:
        Samples that training changes at random (augmentation) have other digests and are not recognized.
        A loader is taken for validation by the user's name for it; one that evaluates on training data
        under a name with `train` is not reported. Data that repeats itself and is drawn by lines of its own
        may meet by chance and is left alone.
    """

    id = "TD206"
    name = "train-validation-overlap"
    title = "validation samples are in the training data"
    reads = (BatchLook,)

    matches_needed = 16
    # Of the validation samples seen, relative to the share of the training data that was seen.
    overlap = 0.3
    # Of the samples must be distinct: below, equal digests prove nothing.
    distinct = 0.9

    def __init__(self) -> None:
        self._trained: dict[int, _Samples] = {}
        self._evaluated: dict[int, _Samples] = {}
        self._rival: dict[int, int] = {}  # the loader that was trained on when an evaluated one first came
        self._last_trained = 0
        self._reported: set[int] = set()

    def see(self, record: BatchLook, state: RunState) -> Iterable[Finding]:
        if not inputs_of(record):
            return
        if record.trained:
            self._last_trained = record.loader
            self._trained.setdefault(record.loader, _Samples()).see(record)
        elif self._last_trained and record.loader not in self._trained:
            self._rival.setdefault(record.loader, self._last_trained)
            self._evaluated.setdefault(record.loader, _Samples()).see(record)
            yield from self._compare(record, state)

    def _compare(self, look: BatchLook, state: RunState) -> Iterable[Finding]:
        fact, rival = state.loaders.get(look.loader), state.loaders.get(self._rival[look.loader])
        if fact is None or rival is None or look.loader in self._reported:
            return
        trained, evaluated = self._trained[rival.number], self._evaluated[look.loader]
        both = len(trained.digests & evaluated.digests)
        seen = min(1.0, len(trained.digests) / rival.samples) if rival.samples else 1.0
        apart = trained.tells_apart(self.distinct) and evaluated.tells_apart(self.distinct)
        many = both >= max(self.matches_needed, self.overlap * seen * len(evaluated.digests))
        # How many samples of the second the first would have if both were drawn alike: by how many of its own
        # samples are equal.
        pairs = trained.count * (trained.count - 1) / 2
        equal = (trained.count - trained.distinct) / pairs if pairs else 0.0
        expected = equal * len(trained.digests) * len(evaluated.digests)
        # Some line makes the data of both, as far as their lines are known.
        lines, others = (
            {(each.file, each.line) for each in loader.upstream if not _SETTINGS.search(each.code or "")}
            for loader in (fact, rival)
        )
        one_source = not (fact.upstream and rival.upstream) or bool(lines & others)
        by_chance = both <= 2 * expected and not one_source
        if apart and many and not by_chance and is_evaluation(name_of(fact)):
            self._reported.add(look.loader)
            repeats = len(trained.digests) < 0.9 * trained.count  # the same sample several times in one pass
            yield self._judge(fact, rival, both, len(evaluated.digests), look.step, repeats)

    def _judge(self, fact: LoaderFact, rival: LoaderFact, both: int, count: int, step: int, repeats: bool) -> Finding:
        where, name, other = _cut(fact, rival), name_of(fact), name_of(rival)
        return self.finding(
            severity="error",
            confidence=0.95,
            message=f"{both} of the {count} samples seen from `{name}`{at_line(line_of(fact))} are in "
            f"`{other}`{at_line(line_of(rival))} as well: the model is validated on what it was trained on.",
            why="A model remembers samples it has seen. Measured on them, it looks better than it is, and "
            "overfitting does not show.",
            fix=(
                f"Split before samples are repeated, and repeat only those of `{other}`; `{name}` is cut "
                f"off{at_line(where)}."
                if repeats
                else f"Look at the line{at_line(where)}: give `{name}` samples that `{other}` does not have, for "
                "instance by `torch.utils.data.random_split(dataset, [n_train, n_val])`."
            ),
            where=where,
            steps=(step, step),
            evidence={"shared": float(both), "seen": float(count)},
        )


def _cut(fact: LoaderFact, rival: LoaderFact) -> Place:
    """Where the data of one parts from the other's: the first statement of its own, else the one that makes
    both; the line of a loader where that is undivided data, or nothing of the kind is known."""
    known = {place.line for place in fact.upstream}
    others = [place.line for place in rival.upstream]
    own = [place for place in fact.upstream if place.line not in others]
    both = [place for place in fact.upstream if _SEVERAL.match(place.code or "")]
    if own and others and known.issuperset(others):  # one part is validated on, and the whole is trained on
        return line_of(rival)
    return min(own, key=lambda place: place.line or 0) if own else both[0] if both else line_of(fact)


@dataclass
class _Classes:
    """The labels of one loader."""

    counts: Counter[int] = field(default_factory=Counter)
    batches: set[int] = field(default_factory=set)
    first_step: int = 0


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
        if labels := labels_of(record):
            classes = self._trained if record.trained else self._evaluated
            seen = classes.setdefault(record.loader, _Classes())
            seen.first_step = seen.first_step or record.step
            seen.batches.add(record.index)
            seen.counts.update(labels)
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
            where, name, other = line_of(fact), name_of(fact), name_of(rival)
            classes = ", ".join(str(label) for label in sorted(unseen)[:6])
            yield self.finding(
                severity="warning",
                confidence=0.9,
                message=f"{sum(unseen.values())} of the {total} labels seen from `{name}`{at_line(where)} are classes "
                f"that `{other}`{at_line(line_of(rival))} never has: {classes}.",
                why="A model cannot learn a class that it is never shown. Data that is sorted by class and cut in "
                "two gives each part classes of its own.",
                fix="Shuffle before the split, for instance with `torch.utils.data.random_split`, so that "
                f"`{other}` and `{name}`{at_line(where)} both have all classes.",
                where=where,
                steps=(evaluated.first_step, look.step),
                evidence={"unseen": float(sum(unseen.values())), "labels": float(total)},
            )


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

    def see(self, record: BatchLook, state: RunState) -> Iterable[Finding]:
        if record.trained:
            self._trained.add(record.loader)
        fact = state.loaders.get(record.loader)
        if fact is None or record.index or record.loader in self._trained or record.loader in self._reported:
            return
        looks = self._first.setdefault(record.loader, [])
        looks.append(record)
        validates = fact.shuffle is False and is_evaluation(name_of(fact)) and self._trained
        if validates and self._differ(looks):
            self._reported.add(record.loader)
            where, name = line_of(fact), name_of(fact)
            sharing = [state.loaders[number] for number in sorted(self._trained) if number in state.loaders]
            shared = next((name_of(other) for other in sharing if other.base == fact.base), None)
            split = f" It shares its dataset, and so its transform, with `{shared}`." if shared else ""
            yield self.finding(
                severity="warning",
                confidence=0.87,
                message=f"The samples of `{name}`{at_line(where)} are different in each of {len(looks)} validation "
                "passes, with the same labels in the same order: random augmentation is on.",
                why=f"A score on samples that change at random is noisy and lower than the model deserves.{split}",
                fix=(
                    f"Build the dataset of `{name}`{at_line(where)} with a transform that draws no random numbers"
                    + (f", apart from that of `{shared}`: two datasets, one split of the indices." if shared else ".")
                ),
                where=where,
                steps=(looks[0].step, looks[-1].step),
                evidence={"passes": float(len(looks)), "shared": shared or ""},
            )

    def _differ(self, looks: list[BatchLook]) -> bool:
        """The same labels each time, and not one sample that came back."""
        if len(looks) < self.passes_needed or len(labels_of(looks[0])) < self.labels_needed:
            return False
        same_labels = len({labels_of(look) for look in looks}) == 1
        digests = [digest for look in looks for digest in set(inputs_of(look)[0].samples)]
        return same_labels and len(set(labels_of(looks[0]))) > 1 and len(set(digests)) == len(digests)
