"""Labels that are constant, shuffled apart from their inputs, or leaked into them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.batches import label_tensor, line_of, name_of
from torch_debugger.records import (
    BatchLook,
    Finding,
    FutureLook,
    InputLook,
    LoaderFact,
    Record,
    ShuffledPair,
    TargetLook,
)


@dataclass
class _Labels:
    """The labels of one loader."""

    classes: set[int] = field(default_factory=set)
    batches: set[int] = field(default_factory=set)  # of a pass
    count: int = 0


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
            if fact is None:
                return
            seen, labels = self._seen.setdefault(record.loader, _Labels()), label_tensor(record)
            if labels is not None:
                seen.classes |= {labels.lowest, labels.highest}
                seen.batches.add(record.index)
                seen.count += labels.shape[0]
            whole = fact.length is not None and len(seen.batches) >= fact.length
            if whole and len(seen.classes) == 1 and self._is_what_the_loss_gets(seen):
                self._reported = True
                yield self._judge(fact, seen, record.step)

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
            message=f"All {seen.count} labels seen from `{name}`{at_line(where)} are {label}: the model is never shown "
            "another class.",
            why=f"With one class for every sample the loss is least when the model always answers {label}. "
            "It learns that within a few steps and nothing else.",
            fix=f"Print the labels that `{fact.dataset}` returns for a few samples and correct how they are "
            f"made; they reach the loss{at_line(self._targets[0].made)} as {label} only.",
            where=where,
            steps=(1, step),
            evidence={"label": float(label), "labels_seen": float(seen.count)},
        )


class LabelsShuffledApart(Check):
    """Of two arrays that belong together one is shuffled alone, so that samples get other samples' labels.

    Symptom:
        The loss falls to what guessing gives and stays there, whatever the model.
    Evidence:
        The source: two arrays are read with one and the same index, or handed to one `zip` or `TensorDataset`,
        and a line before shuffles one of them, or each in an order of its own; or one is read with a shuffled
        index and the other without. And the loss curve: after its beginning the loss hardly falls any further.
    Fix:
        Draw one order and use it for both arrays.
    Known limits:
        Only arrays that are shuffled and paired in the same function or class are told. With several optimizers
        nothing is said: domains without pairs are read side by side on purpose.
    """

    id = "TD217"
    name = "labels-shuffled-apart"
    title = "inputs and labels are shuffled apart"
    reads = (ShuffledPair,)
    explains = ("lr-too-low", "overfits-training-data", "vanishing-gradient", "posterior-collapse")

    fewest_losses = 30
    # Of the level after the first tenth of the run: what is memorised or learned falls further than that.
    most_fallen = 0.3

    def __init__(self) -> None:
        self._pairs: list[ShuffledPair] = []

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, ShuffledPair):
            self._pairs.append(record)

    def finish(self, state: RunState) -> Iterable[Finding]:
        values = [value for _, value in state.losses.finite()]
        if not self._pairs or len(state.optimizers) != 1 or len(values) < self.fewest_losses:
            return
        begun = statistics.median(values[len(values) // 10 : len(values) // 3])
        fallen = 1.0 - statistics.median(values[-len(values) // 5 :]) / begun if begun > 0 else math.inf
        if fallen < self.most_fallen:
            pair = self._pairs[0]
            what, fix = _in_words(pair)
            yield self.finding(
                severity="error",
                confidence=0.9,
                message=f"{what}: samples get the labels of others. Since its beginning the loss has fallen by "
                f"{max(0.0, fallen):.0%}.",
                why="No input tells anything about its label any more. What is left to learn is how often each "
                "label occurs.",
                fix=fix,
                where=pair.place,
                steps=(pair.step, max(pair.step, state.step)),
                evidence={"first": pair.first, "second": pair.second, "loss_fallen": fallen},
            )


def _in_words(pair: ShuffledPair) -> tuple[str, str]:
    """What is shuffled, and what to do."""
    first, second = pair.first, pair.second
    if pair.index:
        return (
            f"`{first}` is read in the shuffled order `{pair.index}`, and `{second}` beside it in its own",
            f"Read both with the same index, in one order: `{second}[{pair.index}]`.",
        )
    what = f"`{first}` is shuffled, and `{second}`, which is read side by side with it, is not"
    if pair.both:
        what = f"`{first}` and `{second}`, which are read side by side, are shuffled in two different orders"
    return what, (
        f"Draw one order and use it for both: `order = torch.randperm(len({first}))`, then `{first}[order]` "
        f"and `{second}[order]`."
    )


class TargetLeakage(Check):
    """The model is given the target itself: as a column of its table, or as the next token.

    Symptom:
        The model is perfect within an epoch, on validation data too; in use, where the answer is not in the
        table, it fails.
    Evidence:
        On several deep steps a column of the table that goes into the first layer was equal to the target for
        every sample. Or the targets are the tokens of the input, one place on, and an attention over this
        input has weight on the next place, so that a causal mask is missing, or a recurrent layer reads the
        input backwards too.
    Fix:
        Take that column out of the features, in training and in validation; give the attention a causal mask.
    Known limits:
        Only exact copies are seen: a target that was scaled, or hidden in several columns, is not. Tables with
        one or two columns, and models that rebuild their input, are not judged. Of sequences only attention
        and recurrent layers are looked at, and only where one embedding reads the tokens.
    """

    id = "TD212"
    name = "target-leakage"
    title = "the target is among the inputs"
    reads = (TargetLook, InputLook, FutureLook)

    looks_needed = 3  # on different steps
    samples_needed = 8  # in each: fewer may agree by chance
    columns_needed = 5  # of a toy with fewer, one may be the target on purpose
    futures_needed = 2

    def __init__(self) -> None:
        self._input: InputLook | None = None
        self._streak: list[TargetLook] = []
        self._futures: list[FutureLook] = []
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, InputLook):
            self._input = record if len(record.shape) == 2 else self._input
        elif isinstance(record, FutureLook) and not self._reported and record.seeing == record.attentions:
            yield from self._see_future(record)
        elif isinstance(record, TargetLook) and self._input is not None and not self._reported:
            if self._input.step != record.step:
                return  # the columns were not looked at
            yield from self._see_target(record, self._input)

    def _see_target(self, look: TargetLook, given: InputLook) -> Iterable[Finding]:
        # Those that were equal to the target in every look so far.
        columns = set(range(given.shape[1])) if given.shape[1] >= self.columns_needed else set()
        for each in (*self._streak, look):
            columns &= set(each.copied_to)
        if len(columns) != 1 or look.shape[0] < self.samples_needed or len(look.labels) == 1:
            self._streak.clear()
            return
        self._streak.append(look)
        if len({look.step for look in self._streak}) >= self.looks_needed:
            self._reported = True
            yield self._judge(given, columns.pop())

    def _see_future(self, look: FutureLook) -> Iterable[Finding]:
        self._futures.append(look)
        if len(self._futures) >= self.futures_needed:
            self._reported = True
            reader = f"`{look.layer}`" if look.layer else "The attention"
            cause = "it reads them backwards as well" if look.layer else "no causal mask is in effect"
            yield self.finding(
                severity="error",
                confidence=0.93,
                message=f"{reader}{at_line(look.place)} lets each of the {look.length} places of `{look.tokens}` see "
                f"the next one, and the next token is what the loss asks for: {cause}.",
                why="The model only has to copy the answer from the place after. Its loss falls far below what is "
                "possible, and it writes nonsense where the next token is not there yet.",
                fix=(
                    f"Make `{look.layer}` without `bidirectional=True`; its output is half as wide then."
                    if look.layer
                    else f"Give the attention{at_line(look.place)} a causal mask: `is_causal=True` in "
                    "`scaled_dot_product_attention`, or "
                    f"`mask=nn.Transformer.generate_square_subsequent_mask({look.length})`; in scores of your own, "
                    "`masked_fill(torch.ones(n, n).triu(1).bool(), float('-inf'))` before the softmax."
                ),
                where=look.place,
                steps=(self._futures[0].step, look.step),
                evidence={"attentions": float(look.attentions), "places": float(look.length)},
            )

    def _judge(self, given: InputLook, column: int) -> Finding:
        first, last = self._streak[0], self._streak[-1]
        count = sum(look.shape[0] for look in self._streak)
        return self.finding(
            severity="warning",
            confidence=0.88,
            message=f"Column {column} of the {given.shape[1]} that `{given.layer}` is given{at_line(given.call)} is "
            f"the target itself: equal for all {count} samples of {len(self._streak)} steps.",
            why="The model only has to copy that column. It will look perfect wherever the answer is in the "
            "table, and know nothing where it is not.",
            fix=f"Leave column {column} out of the features that reach the model{at_line(given.call)}.",
            where=given.call,
            steps=(first.step, last.step),
            evidence={"column": float(column), "samples": float(count)},
        )
