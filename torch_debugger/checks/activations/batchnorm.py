"""Batch normalisation: its kept statistics, tiny batches, and biases in front of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from torch_debugger.checks.base import Check, RunState, within
from torch_debugger.checks.call_edits import edit_line, with_keyword
from torch_debugger.records import BatchNormLook, Finding, ModuleFact, PhaseFact, Place, Record


class BatchnormStatsDiverge(Check):
    """The `momentum` of BatchNorm makes its kept statistics those of one batch, or leaves them at their start.

    Symptom:
        The training loss is fine, and in eval mode the same model is bad, or jumps from one evaluation to the
        next.
    Evidence:
        The module's `momentum`, and a model that is evaluated in eval mode. Near 1 the kept mean and variance
        are those of the last batch alone. Near 0 they are still far from those of the batches after a hundred
        steps or more: this is measured.
    Fix:
        Use torch's default, `momentum=0.1`. In torch it is the weight of the newest batch; in Keras and
        TensorFlow it is that of the past, so 0.99 there is 0.01 here.
    Known limits:
        Statistics that are wrong for other reasons (data that change, layers frozen in eval mode) are not
        judged.
    """

    id = "TD316"
    name = "batchnorm-stats-diverge"
    title = "the statistics BatchNorm keeps for evaluation are wrong"
    reads = (BatchNormLook, PhaseFact)

    # The default is 0.1; large models use down to 0.01.
    forgets_all = 0.9
    # Values a channel of one batch, from which on their mean is good enough by itself.
    many_values = 256
    # Distance of the means in deviations of the batch, and factor between the variances.
    far_mean = 1.0
    far_variance = 8.0
    # Share of the start values (mean 0, variance 1) that is still in what is kept.
    share_of_start = 0.2
    steps_needed = 100

    def __init__(self) -> None:
        self._first: dict[str, BatchNormLook] = {}
        self._last: dict[str, BatchNormLook] = {}
        self._evaluated: set[str] = set()

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, PhaseFact):
            if not record.training and not record.grad:
                self._evaluated.add(record.root)
        elif isinstance(record, BatchNormLook):
            self._first.setdefault(record.name, record)
            self._last[record.name] = record

    def finish(self, state: RunState) -> Iterable[Finding]:
        """One finding a model."""
        for root in sorted(self._evaluated):
            names = [name for name in reversed(self._last) if name.split(".", 1)[0] == root]
            found = [story for name in names if (story := self._story(name, state)) is not None]
            if found:
                layers = len(found)
                module, look, words = found[0]
                momentum, values = module.settings["momentum"], _values(look)
                more = f"; {layers - 1} more layers are the same" if layers > 1 else ""
                after, count = re.subn(r"momentum\s*=\s*[0-9.eE-]+", "momentum=0.1", module.place.code or "")
                yield self.finding(
                    severity="note" if momentum >= self.forgets_all and values >= self.many_values else "warning",
                    confidence=0.85,
                    message=f"`{module.path}` has `momentum={momentum:g}`: {words}{more}.",
                    why="In eval mode BatchNorm uses what it has kept, not the batch. In torch `momentum` is the "
                    "weight of the newest batch in it.",
                    fix=f"Write `momentum=0.1`, or leave it out, for `{module.path}` ({module.kind}).",
                    where=module.place,
                    steps=(self._first[look.name].step, look.step),
                    evidence={"momentum": momentum, "gap": look.gap, "ratio": look.ratio, "layers": float(layers)},
                    edit=edit_line(module.place, after) if count == 1 else None,
                )

    def _story(self, name: str, state: RunState) -> tuple[ModuleFact, BatchNormLook, str] | None:
        module, look = state.module(name), self._last[name]
        momentum = module.settings.get("momentum", math.nan) if module else math.nan
        if module is None or math.isnan(momentum) or momentum > 1:
            return None
        if momentum >= self.forgets_all:
            return module, look, f"its kept statistics are {momentum:.0%} those of the last batch alone"
        left = (1 - momentum) ** look.step
        apart = look.gap > self.far_mean or abs(math.log(max(look.ratio, 1e-20))) > math.log(self.far_variance)
        if look.step < self.steps_needed or left < self.share_of_start or not apart:
            return None
        return module, look, (
            f"its kept statistics are still {left:.0%} their start values at step {look.step}, the means "
            f"{look.gap:.2g} deviations away from the batches'"
        )  # fmt: skip


class BatchnormTinyBatch(Check):
    """BatchNorm computes its mean and variance over a batch of one sample, or over two or three values.

    Symptom:
        Training looks fine and evaluation is far off, or the loss does not fall at all: with two values a
        channel, everything that is normalised becomes 1 or -1.
    Evidence:
        The shape of what BatchNorm layers normalised in training mode, on every deep step: values a channel,
        and samples in the batch. A batch of one counts where the model is evaluated in eval mode too, with the
        statistics that BatchNorm kept.
    Fix:
        Use larger batches, or `nn.GroupNorm` or `nn.LayerNorm`, which normalise every sample by itself.
    Known limits:
        A last batch that is small is not reported: all batches looked at must be. Layers kept in eval mode
        are not seen here.
    """

    id = "TD315"
    name = "batchnorm-tiny-batch"
    title = "BatchNorm normalises over a batch of next to nothing"
    reads = (BatchNormLook, PhaseFact)
    explains = ("batchnorm-stats-diverge",)

    fewest_values = 4
    looks_needed = 3

    steps_needed = 50  # of a try with a few, nothing is lost

    def __init__(self) -> None:
        self._looks: dict[str, list[BatchNormLook]] = {}
        self._larger: set[str] = set()  # layers that met a batch that is large enough
        self._evaluated: set[str] = set()
        self._reported: set[str] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, PhaseFact):
            if not record.training and not record.grad:
                self._evaluated.add(record.root)
        elif isinstance(record, BatchNormLook):
            looks = self._looks.setdefault(record.name, [])
            looks.append(record)
            del looks[1 : -self.looks_needed]
            if record.shape[0] > 1 and _values(record) >= self.fewest_values:
                self._larger.add(record.name)
            if not self._reported and len(looks) > self.looks_needed:  # by then all layers have been met as often
                return self.finish(state)
        return ()

    def finish(self, state: RunState) -> Iterator[Finding]:
        """One finding a model: the first of its layers."""
        roots: set[str] = set()
        if state.step < self.steps_needed:
            return
        for name, looks in reversed(self._looks.items()):  # they were met on the way back from the loss
            root = name.split(".", 1)[0]
            if root in roots or name in self._larger or len(looks) < self.looks_needed:
                continue
            if _values(looks[-1]) < self.fewest_values or root in self._evaluated:
                roots.add(root)
                self._reported.add(root)
                yield self._judge(looks, root, state)

    def _judge(self, looks: list[BatchNormLook], root: str, state: RunState) -> Finding:
        last, layers = looks[-1], sum(name.split(".", 1)[0] == root for name in self._looks)
        values, channels = _values(last), last.shape[1]
        few = values < self.fewest_values
        samples = "one sample" if last.shape[0] == 1 else f"{last.shape[0]} samples"
        groups = next(count for count in (8, 4, 2, 1) if channels % count == 0)
        return self.finding(
            severity="error" if few else "warning",
            confidence=0.95 if few else 0.85,
            message=f"`{last.name}` normalises each channel over {values} values of {samples} since step "
            f"{looks[0].step}{f', as {layers - 1} more layers do' if layers > 1 else ''}.",
            why=(
                f"Over {values} values the mean and variance are those of the sample itself: what it says is "
                "normalised away."
                if few
                else "In training each sample is normalised by its own mean and variance, in eval mode by the "
                "kept averages over all samples: these are two different models."
            ),
            fix=f"Use batches of at least 16 samples, or replace `{last.name}` by "
            f"`nn.GroupNorm({groups}, {channels})`, which does not look at other samples.",
            where=state.place_of(last.name),
            steps=(looks[0].step, last.step),
            evidence={"batch": float(last.shape[0]), "values": float(values), "layers": float(layers)},
        )


def _values(look: BatchNormLook) -> int:
    """How many a channel."""
    return math.prod(look.shape) // max(1, look.shape[1])


class BiasBeforeBatchnorm(Check):
    """A layer adds a bias, and the BatchNorm right behind it subtracts it again with the mean.

    Symptom:
        None in the loss. The biases get a gradient of zero (up to rounding), stay where they began, and take
        memory and time in every step; weight decay and gradient norms are computed over them for nothing.
    Evidence:
        The autograd graph: the output of a Linear or convolution goes into a BatchNorm in training mode and
        nowhere else.
    Fix:
        Make the layer with `bias=False`; the BatchNorm has a bias of its own.
    Known limits:
        Advice, never more than a note. Layers made by a library are not told, nor a Linear layer whose output
        is viewed or transposed before it is normalised.
    """

    id = "TD319"
    name = "bias-before-batchnorm"
    title = "a bias that BatchNorm subtracts again"
    reads = (BatchNormLook,)

    looks_needed = 2

    def __init__(self) -> None:
        self._looks: dict[str, list[int]] = {}  # layer -> steps
        self._norms: dict[str, str] = {}
        self._reported = ""  # the layer that the note is about

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if not isinstance(record, BatchNormLook) or not record.biased:
            return ()
        steps = self._looks.setdefault(record.biased, [])
        self._norms[record.biased] = record.name
        steps.append(record.step)
        del steps[1:-1]
        return self._tell(state) if len(steps) >= self.looks_needed and not self._reported else ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        return self._tell(state) if self._reported else ()

    def _tell(self, state: RunState) -> list[Finding]:
        """One note a run, at the first layer that the user's own line makes."""
        made = [layer for layer in self._looks if (fact := state.module(layer)) and fact.place.file]
        if made and not self._reported:
            # The first layer of the model that was met first: they are met on the way back from the loss.
            root = made[0].split(".", 1)[0]
            self._reported = [layer for layer in made if layer.split(".", 1)[0] == root][-1]
        return [self._judge(self._reported, len(made), state)] if made else []

    def _judge(self, first: str, count: int, state: RunState) -> Finding:
        steps = self._looks[first]
        module = state.module(first)
        place, kind = (module.place, module.kind) if module is not None else (Place(), "layer")
        edit = with_keyword(place, kind, "bias", "False")
        more = ""
        if count > 1:
            more = ", and so does one more layer" if count == 2 else f", and so do {count - 1} more layers"
        return self.finding(
            severity="note",
            confidence=0.95,
            message=f"`{first}` ({kind}) adds a bias that `{self._norms[first]}` right behind it subtracts again"
            f"{more}: {'these biases have' if more else 'it has'} no effect.",
            why="BatchNorm subtracts each channel's mean over the batch, and with it whatever constant was "
            "added to the channel; its own bias takes that place.",
            fix=f"Write `{edit.after}`." if edit else f"Make `{first}` with `bias=False`.",
            where=within(place, first),
            steps=(steps[0], max(steps[-1], state.step)),
            evidence={"layers": float(count), "norm": self._norms[first]},
            edit=edit,
        )
