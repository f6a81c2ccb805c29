"""TD315: batch normalisation over so few values that the batch decides the output."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from torch_debugger.checks.base import Check
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchNormLook, Finding, PhaseFact, Place, Record


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
        self._told: set[str] = set()

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
            if not self._told and len(looks) > self.looks_needed:  # by then all layers have been met as often
                return self._tell(state)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        return self._tell(state)

    def _tell(self, state: RunState) -> Iterator[Finding]:
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
                self._told.add(root)
                yield self._judge(looks, root, state)

    def _judge(self, looks: list[BatchNormLook], root: str, state: RunState) -> Finding:
        last, layers = looks[-1], sum(name.split(".", 1)[0] == root for name in self._looks)
        values, channels = _values(last), last.shape[1]
        module = state.module(last.name)
        made = module.place if module else Place()
        few = values < self.fewest_values
        return self.finding(
            severity="error" if few else "warning",
            confidence=0.95 if few else 0.85,
            message=(
                f"`{last.name}` normalises each channel over {values} values of {_samples(last)} since step "
                f"{looks[0].step}{f', as {layers - 1} more layers do' if layers > 1 else ''}."
            ),
            why=(
                f"Over {values} values the mean and variance are those of the sample itself: what it says is "
                "normalised away."
                if few
                else "In training each sample is normalised by its own mean and variance, in eval mode by the "
                "kept averages over all samples: these are two different models."
            ),
            fix=(
                f"Use batches of at least 16 samples, or replace `{last.name}` by "
                f"`nn.GroupNorm({_groups(channels)}, {channels})`, which does not look at other samples."
            ),
            where=Place(made.file, made.line, last.name, made.code),
            first_step=looks[0].step,
            last_step=last.step,
            evidence={"batch": float(last.shape[0]), "values": float(values), "layers": float(layers)},
        )


def _values(look: BatchNormLook) -> int:
    """How many a channel."""
    return math.prod(look.shape) // max(1, look.shape[1])


def _samples(look: BatchNormLook) -> str:
    return "one sample" if look.shape[0] == 1 else f"{look.shape[0]} samples"


def _groups(channels: int) -> int:
    return next(count for count in (8, 4, 2, 1) if channels % count == 0)
