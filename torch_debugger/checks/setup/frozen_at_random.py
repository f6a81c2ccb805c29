"""TD152: layers are frozen with the random weights that they were made with."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import line_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import CheckpointLoad, Finding, FrozenAtRandom, Record


class FrozenAtRandomCheck(Check):
    """Layers are frozen although nobody has loaded or trained their weights.

    Symptom:
        Fine-tuning learns little: what comes out of the frozen part are random features.
    Evidence:
        All weights of the frozen layers have the spread, the range and the tails of a distribution that
        initializations draw from, and the rest of the model is trained. Some steps later they are still frozen,
        and no value has changed.
    Fix:
        Load the weights before they are frozen, or do not freeze these layers.
    Known limits:
        A note, unless the script has a line that loads weights and that has loaded none: random features may be
        meant. Layers that a class freezes where it makes them are taken to be meant, and so are layers that
        have trained weights of their own, as adapters have. Copies of a trained part, as target networks are,
        and what a moving average follows are left alone. Where some line switches gradients on, only a part
        counts that stays frozen for a hundred steps.
    """

    id = "TD152"
    name = "frozen-at-random"
    title = "layers are frozen with random weights"
    reads = (FrozenAtRandom, CheckpointLoad)
    explains = ("lr-too-low", "lr-too-high")

    share_needed = 0.3  # of the model's values: a small frozen part may be anything

    def __init__(self) -> None:
        self._loads = 0

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, CheckpointLoad):
            self._loads += bool(record.loaded)
        elif isinstance(record, FrozenAtRandom) and record.elements >= self.share_needed * record.of:
            yield self._judge(record)

    def _judge(self, fact: FrozenAtRandom) -> Finding:
        parts = ", ".join(f"`{part}`" for part in fact.parts[:3])
        missed = bool(fact.loading) and not self._loads
        load = (
            f"`{fact.loading.code}`{line_of(fact.loading)} has loaded nothing into it"
            if missed
            else "nobody has loaded or trained it"
        )
        return self.finding(
            severity="warning" if missed else "note",
            confidence=0.75 if missed else 0.6,
            message=(
                f"Frozen with the random values of its initialization: {parts}, {fact.elements:,} of "
                f"{fact.of:,} values of `{fact.root}`; {load}."
            ),
            why=(
                f"The weights of its largest layer have a standard deviation of {fact.spread:.3g}; drawn from "
                f"{fact.drawn} they would have {fact.expected:.3g}. All {fact.layers} layers fit like that, "
                "which trained weights do not."
            ),
            fix=(
                f"Load trained weights before {parts} is frozen{line_of(fact.place)}, or leave that line out, "
                "so that it is trained too."
            ),
            where=dataclasses.replace(fact.place, module=fact.parts[0]),
            first_step=fact.step,
            last_step=fact.step,
            evidence={
                "frozen_values": float(fact.elements),
                "values": float(fact.of),
                "spread": fact.spread,
                "expected_spread": fact.expected,
                "drawn_from": fact.drawn,
            },
        )
