"""TD123: two weights that a line makes one are two, and train apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import call_at, line_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, Finding, Record, UntiedWeights


class WeightTyingBroken(Check):
    """The weights of an embedding and of the output layer should be shared, but only their values were copied.

    Symptom:
        The model has more parameters than it should, learns more slowly, and the two weights drift apart.
    Evidence:
        Before the first update the two had bit for bit the same values in two different objects, and a line
        of the class copies one into the other; or a line shares them, and a later one has put another
        object in the place of one. An optimizer holds both.
    Fix:
        `self.head.weight = self.embed.weight`, after the last line that makes or replaces either.
    Known limits:
        Only lines of `__init__` that run always are read. Layers of the same kind that begin with the same
        values (twin networks, copied blocks) are not reported.
    """

    id = "TD123"
    name = "weight-tying-broken"
    title = "weights that should be shared are two"
    reads = (UntiedWeights,)

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, UntiedWeights)
        copied = record.how == "copied"
        sharing = _sharing(record)
        yield self.finding(
            severity="warning",
            confidence=0.8 if copied else 0.85,
            message=(
                f"`{record.second}` and `{record.first}` are two weights of {record.elements:,} values each "
                f"that train apart: {call_at(record.place, 'a line')} "
                f"{'copies values and shares nothing' if copied else 'shares them, and a later one undoes it'}."
            ),
            why=(
                "Two layers share a weight only if both hold the same nn.Parameter. A copy has a gradient and "
                "updates of its own from the first step on."
                if copied
                else "A layer that is made or replaced after the line that ties it has a new nn.Parameter. The "
                "other layer keeps the old one."
            ),
            fix=(
                f"Write `{sharing}`{line_of(record.place)}."
                if copied
                else f"Move `{sharing}`{line_of(record.place)} below the line that makes either layer again."
            ),
            where=dataclasses.replace(record.place, module=record.second),
            first_step=record.step,
            last_step=max(record.step, state.step),
            evidence={"values": float(record.elements), "how": record.how},
            edit=_edit(record, sharing) if copied else None,
        )


def _sharing(record: UntiedWeights) -> str:
    """self.head.weight = self.embed.weight, by the part of the two names in which they differ."""
    first, second = record.first.split("."), record.second.split(".")
    while len(first) > 2 and len(second) > 2 and first[0] == second[0]:
        first, second = first[1:], second[1:]
    return f"self.{'.'.join(second)} = self.{'.'.join(first)}"


def _edit(record: UntiedWeights, sharing: str) -> Edit | None:
    place = record.place
    if place.file is None or place.line is None or not place.code:
        return None
    return Edit(place.file, place.line, place.code, sharing)
