"""TD316: the statistics that BatchNorm keeps for evaluation are not those of the data."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchNormLook, Edit, Finding, ModuleFact, PhaseFact, Place, Record


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

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, PhaseFact):
            if not record.training and not record.grad:
                self._evaluated.add(record.root)
        elif isinstance(record, BatchNormLook):
            self._first.setdefault(record.name, record)
            self._last[record.name] = record
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        """One finding a model."""
        for root in sorted(self._evaluated):
            names = [name for name in reversed(self._last) if name.split(".", 1)[0] == root]
            found = [story for name in names if (story := self._story(name, state)) is not None]
            if found:
                yield self._judge(found[0], len(found))

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

    def _judge(self, story: tuple[ModuleFact, BatchNormLook, str], layers: int) -> Finding:
        module, look, words = story
        momentum, values = module.settings["momentum"], math.prod(look.shape) // max(1, look.shape[1])
        more = f"; {layers - 1} more layers are the same" if layers > 1 else ""
        return self.finding(
            severity="note" if momentum >= self.forgets_all and values >= self.many_values else "warning",
            confidence=0.85,
            message=f"`{module.path}` has `momentum={momentum:g}`: {words}{more}.",
            why=(
                "In eval mode BatchNorm uses what it has kept, not the batch. In torch `momentum` is the "
                "weight of the newest batch in it."
            ),
            fix=f"Write `momentum=0.1`, or leave it out, for `{module.path}` ({module.kind}).",
            where=module.place,
            first_step=self._first[look.name].step,
            last_step=look.step,
            evidence={"momentum": momentum, "gap": look.gap, "ratio": look.ratio, "layers": float(layers)},
            edit=_edit(module.place),
        )


def _edit(place: Place) -> Edit | None:
    code = place.code or ""
    after, count = re.subn(r"momentum\s*=\s*[0-9.eE-]+", "momentum=0.1", code)
    return Edit(place.file, place.line, code, after) if count == 1 and place.file and place.line else None
