"""TD311: units that began alike and can never become different."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.gradient_profile import module_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, Place, Record, TwinUnits


class ConstantInitSymmetry(Check):
    """All units of a layer have the same weights and get the same gradient, so they stay copies of one unit.

    Symptom:
        The loss falls a little and then stops: a layer of 64 units can do no more than a layer of one.
    Evidence:
        On several deep steps, before the update: the rows of a weight matrix were equal, and so were those of
        its gradient. Or no weight matrix got a gradient at all, because all of them are zero.
    Fix:
        Start from random weights: `nn.init.kaiming_normal_` or `nn.init.xavier_uniform_`. Only biases, and the
        scale and shift of normalisation layers, may start from a constant.
    Known limits:
        A layer that starts from zero between random ones gets different gradients in the first step: that is
        healthy and not reported. Layers with fewer than four units and embeddings are not judged.
    """

    id = "TD311"
    name = "constant-init-symmetry"
    title = "all units of a layer are copies of each other"
    reads = (TwinUnits,)
    explains = ("vanishing-gradient", "dead-relu")

    # Equal rows of weights with equal rows of gradients stay equal: the first three steps tell it.
    looks_needed = 3

    def __init__(self) -> None:
        self._looks: dict[str, list[TwinUnits]] = {}
        self._told: set[str] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, TwinUnits)
        looks = self._looks.setdefault(record.optimizer, [])
        looks.append(record)
        del looks[1 : -self.looks_needed]
        if record.optimizer not in self._told:
            finding = self._judge(looks, state)
            if finding is not None:
                self._told.add(record.optimizer)
                yield finding

    def finish(self, state: RunState) -> Iterable[Finding]:
        found = [self._judge(self._looks[name], state) for name in sorted(self._told)]
        return [finding for finding in found if finding is not None]

    def _judge(self, looks: list[TwinUnits], state: RunState) -> Finding | None:
        recent = looks[-self.looks_needed :]
        if len(recent) < self.looks_needed:
            return None
        alike = [name for name in recent[-1].alike if all(name in look.alike for look in recent)]
        alike = [name for name in alike if _counts(name, state)]
        silent = [name for name in recent[-1].silent if all(name in look.silent for look in recent)]
        if alike:
            return self._told_of(alike, "get the same gradient", looks, state)
        if len(silent) >= 2 and len(silent) == recent[-1].matrices:
            return self._told_of(silent, "get a gradient of exactly 0", looks, state)
        return None

    def _told_of(self, names: list[str], gradient: str, looks: list[TwinUnits], state: RunState) -> Finding:
        last = looks[-1]
        weight = names[0]
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return self.finding(
            severity="error",
            confidence=0.97,
            message=(
                f"All units of `{weight}`{others} have the same weights and {gradient} since step "
                f"{looks[0].step}: they are copies of one unit and stay so."
            ),
            why=(
                "Units that start alike compute the same, so the loss asks the same of each of them. Only "
                "different start values let them learn different things."
            ),
            fix=_fix(last.place, weight),
            where=_where(last.place, module_of(weight), state),
            first_step=looks[0].step,
            last_step=last.step,
            evidence={
                "layers": ", ".join(names[:8]),
                "count": float(len(names)),
                "matrices": float(last.matrices),
            },
        )


def _counts(parameter: str, state: RunState) -> bool:
    """The rows of an embedding are words, and words that are not in the batch get no gradient."""
    module = state.module(module_of(parameter))
    return module is None or not module.kind.startswith("Embedding")


def _where(place: Place, layer: str, state: RunState) -> Place:
    if place.file:
        return Place(place.file, place.line, layer, place.code)
    module = state.module(layer)
    return (
        Place(module.place.file, module.place.line, layer, module.place.code) if module else Place(module=layer)
    )


def _fix(place: Place, weight: str) -> str:
    instead = f"random values: `nn.init.kaiming_normal_({weight})`, and so for the others"
    if place.code:
        return f"Replace `{place.code}` by {instead}; a bias may stay constant."
    return f"Give the weights {instead}; a bias may stay constant."
