"""TD401: gradients that fade away on their way to the first layers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check
from torch_debugger.checks.curves import fallen_share
from torch_debugger.checks.gradient_profile import Profile, layer_rows, module_of, read_profile, relative_spread
from torch_debugger.checks.optimizer_call import is_adaptive
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, ModelFact, Place, Record, Table, TensorRows

_SATURATING = ("Sigmoid", "Tanh", "Hardsigmoid", "Hardtanh", "Softsign", "LogSigmoid")


@dataclass
class _Model:
    table: Table | None = None
    layers: tuple[int, ...] = ()  # rows of the table, one per layer
    profiles: list[Profile] = field(default_factory=list)
    spread: float = 1.0  # of the weights, relative to what keeps a signal's size
    next_look: int = 0
    reported: bool = False


class VanishingGradient(Check):
    """The gradient fades by orders of magnitude between the last layer and the first.

    Symptom:
        The loss stays near its start: the last layers learn a little, the first ones not at all.
    Evidence:
        The root mean square of the gradient, per layer in the order of definition, falls almost steadily
        from the last layer to the first, by a factor of ten thousand or more, on several steps, while the
        loss has not halved. It is read from the biases where the layers have some: their gradient is the
        signal itself, while a weight's is the signal times the layer's input.
    Fix:
        Replace saturating activations (sigmoid, tanh) in the hidden layers by ReLU or GELU, add
        normalisation or residual connections, and initialise for the activation in use.
    Known limits:
        Adam and its kin rescale small gradients, so with them only gradients near their epsilon count.
        The order of definition stands for the order of the layers. A gradient that is zero everywhere
        is not reported here, and without a loss there is no judgement.
    """

    id = "TD401"
    name = "vanishing-gradient"
    title = "the gradient fades before it reaches the first layers"
    reads = (TensorRows,)

    # Holds for stacks without residual connections; healthy ones stay within a factor of a hundred.
    decay_error = 1e4
    layers_needed = 4
    # Of all neighbours, this share must shrink towards the input: a steady fade, not one odd layer.
    steady_share = 0.75
    rows_needed = 3
    steps_apart = 20
    # Adaptive optimizers divide by the gradient's own size down to their eps.
    adaptive_rms = 1e-8
    # A loss that halved is no victim.
    healthy_fall = 0.5
    # Weights this far below the spread that keeps a signal's size are a cause of their own.
    small_start = 0.35
    # Neighbouring steps say the same: one look in five is enough, and cheap.
    steps_between = 5

    def __init__(self) -> None:
        self._models: dict[str, _Model] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, TensorRows)
        if record.table.kind != "parameter":
            return
        model = self._models.setdefault(record.table.root, _Model())  # one table per optimizer
        # A run of tiny steps may get no looks but those at its first steps.
        if model.reported or (len(model.profiles) >= self.rows_needed and record.step < model.next_look):
            return
        model.next_look = record.step + self.steps_between
        self._look(model, record, state)
        if model.profiles and record.step - model.profiles[0].step >= self.steps_apart:
            yield from self._judge(model, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        """A short run may have been looked at in its first steps only; its loss is known to the end."""
        for model in self._models.values():
            if not model.reported:
                yield from self._judge(model, state)

    def _look(self, model: _Model, rows: TensorRows, state: RunState) -> None:
        """Keep a profile that fades; one that does not ends the streak."""
        if model.table is not rows.table:
            model.table, model.layers = rows.table, layer_rows(rows.table, state, self.layers_needed)
        profile = read_profile(rows, model.layers)
        if self._fades(profile, state):
            model.profiles.append(profile)
            model.spread = relative_spread(rows, state)
            del model.profiles[1 : -self.rows_needed]
        else:
            model.profiles.clear()

    def _fades(self, profile: Profile, state: RunState) -> bool:
        rms = profile.rms
        if len(rms) < self.layers_needed or rms[-1] <= 0 or profile.decay < self.decay_error:
            return False
        steady = sum(before < after for before, after in itertools.pairwise(rms))
        if steady < self.steady_share * (len(rms) - 1):
            return False
        return not _is_adaptive(state) or rms[0] < self.adaptive_rms

    def _judge(self, model: _Model, state: RunState) -> Iterable[Finding]:
        fallen = fallen_share(state.losses.finite())
        if len(model.profiles) < self.rows_needed or fallen is None or fallen >= self.healthy_fall:
            return
        model.reported = True
        first, last = model.profiles[0], model.profiles[-1]
        early, late = last.names[0], last.names[-1]
        yield self.finding(
            severity="error",
            confidence=0.92 if fallen < 0.1 else 0.8,
            message=(
                f"The gradient of `{early}` is {last.decay:.2g} times smaller than that of `{late}` "
                f"({last.rms[0]:.2g} against {last.rms[-1]:.2g} per value) since step {first.step}: "
                "the first layers do not learn."
            ),
            why=(
                f"It shrinks from layer to layer over {len(last.rms)} layers, so an update that suits "
                f"the last layer is nothing to the first. The loss has fallen by {max(0.0, fallen):.0%} so far."
            ),
            fix=_fix(state.models.get(early.split(".", 1)[0]), model.spread < self.small_start),
            where=_where(early, state),
            first_step=first.step,
            last_step=last.step,
            evidence={
                "first_rms": last.rms[0],
                "last_rms": last.rms[-1],
                "ratio": last.decay,
                "layers": float(len(last.rms)),
                "loss_fallen": fallen,
                "relative_spread": model.spread,
            },
        )


def _is_adaptive(state: RunState) -> bool:
    return any(is_adaptive(one.kind) for one in state.optimizers.values())


def _where(parameter: str, state: RunState) -> Place:
    path = module_of(parameter)
    module = state.module(path)
    place = module.place if module else Place()
    return Place(place.file, place.line, path, place.code)


def _fix(model: ModelFact | None, small_start: bool) -> str:
    kinds = [module.kind for module in model.modules] if model else []
    saturating = [kind for kind in dict.fromkeys(kinds) if kind in _SATURATING]
    advice = (
        f"Replace {' and '.join(saturating)} between the hidden layers by ReLU or GELU"
        if saturating
        else "Use ReLU or GELU between the hidden layers (a sigmoid or tanh shrinks every gradient)"
    )
    if not any("Norm" in kind for kind in kinds):
        advice += ", and put a normalisation layer (`nn.LayerNorm`, `nn.BatchNorm1d`) after each of them"
    advice += ". In deep stacks add residual connections: `x = x + block(x)`."
    if small_start:
        advice = f"Start from larger weights: `nn.init.xavier_normal_(layer.weight)` for every layer. {advice}"
    return advice
