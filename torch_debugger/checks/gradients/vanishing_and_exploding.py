"""Gradients that fade away, or grow, on their way back through layers or time."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.call_edits import is_adaptive
from torch_debugger.checks.optimization import Profile, layer_rows, module_of, read_profile, relative_spread
from torch_debugger.checks.trends import fallen_share
from torch_debugger.records import Finding, ModelFact, Record, ReusedWeight, Table, TensorRows

_SATURATING = ("Sigmoid", "Tanh", "Hardsigmoid", "Hardtanh", "Softsign", "LogSigmoid")


@dataclass
class _Fading:
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
        self._models: dict[str, _Fading] = {}

    def see(self, record: TensorRows, state: RunState) -> Iterable[Finding]:
        if record.table.kind != "parameter":
            return
        model = self._models.setdefault(record.table.root, _Fading())  # one table per optimizer
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

    def _look(self, model: _Fading, rows: TensorRows, state: RunState) -> None:
        """Keep a profile that fades; one that does not ends the streak."""
        if model.table is not rows.table:
            model.table, model.layers = rows.table, layer_rows(rows.table, state, self.layers_needed)
        profile = read_profile(rows, model.layers)
        rms = profile.rms
        fades = len(rms) >= self.layers_needed and rms[-1] > 0 and profile.decay >= self.decay_error
        steady = sum(before < after for before, after in itertools.pairwise(rms)) >= self.steady_share * (len(rms) - 1)
        adaptive = any(is_adaptive(one.kind) for one in state.optimizers.values())
        if fades and steady and (not adaptive or rms[0] < self.adaptive_rms):
            model.profiles.append(profile)
            model.spread = relative_spread(rows, state)
            del model.profiles[1 : -self.rows_needed]
        else:
            model.profiles.clear()

    def _judge(self, model: _Fading, state: RunState) -> Iterable[Finding]:
        fallen = fallen_share(state.losses.finite())
        if len(model.profiles) < self.rows_needed or fallen is None or fallen >= self.healthy_fall:
            return
        model.reported = True
        first, last = model.profiles[0], model.profiles[-1]
        early, late = last.names[0], last.names[-1]
        yield self.finding(
            severity="error",
            confidence=0.92 if fallen < 0.1 else 0.8,
            message=f"The gradient of `{early}` is {last.decay:.2g} times smaller than that of `{late}` "
            f"({last.rms[0]:.2g} against {last.rms[-1]:.2g} per value) since step {first.step}: "
            "the first layers do not learn.",
            why=f"It shrinks from layer to layer over {len(last.rms)} layers, so an update that suits "
            f"the last layer is nothing to the first. The loss has fallen by {max(0.0, fallen):.0%} so far.",
            fix=_fix(state.models.get(early.split(".", 1)[0]), model.spread < self.small_start),
            where=state.place_of(module_of(early)),
            steps=(first.step, last.step),
            evidence={
                "first_rms": last.rms[0],
                "last_rms": last.rms[-1],
                "ratio": last.decay,
                "layers": float(len(last.rms)),
                "loss_fallen": fallen,
                "relative_spread": model.spread,
            },
        )


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


_RECURRENT = ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell")


@dataclass
class _Growing:
    table: Table | None = None
    layers: tuple[int, ...] = ()  # rows of the table, one per layer
    recurrent: str = ""  # the last weight that is used again at every step of a sequence
    behind: str = ""  # a weight of the first layer after it
    ratios: list[float] = field(default_factory=list)  # early gradient / late gradient, one a look
    names: tuple[str, str] = ("", "")
    first_step: int = 0
    last_step: int = 0


class ExplodingGradient(Check):
    """The gradient grows by orders of magnitude on its way back to the first layers or the first time steps.

    Symptom:
        The loss jumps, now and then by a lot, or does not fall: every update follows a few enormous gradients.
    Evidence:
        The root mean square of the gradient, on many looks. Through layers: it grows almost steadily from the
        last layer to the first, ten-thousandfold in all. Through time: that of a recurrent layer's own weights
        is a thousand times that of the layer behind it. The loss has not halved. Where it is no longer a number
        after a few steps, one look before the first update is enough.
    Fix:
        Clip: `torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)` between `backward()` and `step()`.
        For recurrent layers start from an orthogonal matrix; shorter sequences and LSTM or GRU help too.
    Known limits:
        Gradients that are clipped are small when the optimizer uses them, so a script that clips is not
        reported.
    """

    id = "TD410"
    name = "exploding-gradient"
    title = "the gradient explodes on its way back"
    reads = (TensorRows, ReusedWeight)
    explains = ("loss-not-finite", "overflow-ahead")

    layers_needed = 4
    # Healthy stacks stay within a factor of a hundred.
    growth_error = 1e4
    steady_share = 0.75
    # A recurrent weight adds up the gradients of all time steps; a hundred of them are common.
    recurrent_error = 1e3
    # The norm of the early weight's gradient; one that is clipped as a whole is smaller.
    smallest_norm = 20.0
    looks_needed = 3
    died_within = 5  # steps
    healthy_fall = 0.5

    def __init__(self) -> None:
        self._models: dict[str, _Growing] = {}
        self._reused: set[str] = set()

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, ReusedWeight):
            self._reused.add(record.name)
            return
        assert isinstance(record, TensorRows)
        if record.table.kind == "parameter":
            model = self._models.setdefault(record.table.root, _Growing())  # one table per optimizer
            if model.table is not record.table:
                model.table = record.table
                model.layers = layer_rows(record.table, state, self.layers_needed)
                model.recurrent, model.behind = _recurrent_pair(record.table, state, self._reused)
            self._look(model, record)

    def _look(self, model: _Growing, rows: TensorRows) -> None:
        model.first_step = model.first_step or rows.step
        model.last_step = rows.step
        if model.recurrent:
            model.names = (model.recurrent, model.behind)
            norms, counts = rows.by_name("grad_norm"), rows.by_name("elements")
            early, late = (norms[name] / max(1.0, counts[name]) ** 0.5 for name in model.names)
            ratio = early / late if late > 0 else 0.0
        else:
            profile = read_profile(rows, model.layers)
            if len(profile.rms) < self.layers_needed:
                return
            model.names, ratio = (profile.names[0], profile.names[-1]), self._growth(profile)
        is_large = rows.by_name("grad_norm")[model.names[0]] >= self.smallest_norm
        model.ratios.append(ratio / self._limit(model) if is_large else 0.0)

    def _limit(self, model: _Growing) -> float:
        return self.recurrent_error if model.recurrent else self.growth_error

    def _growth(self, profile: Profile) -> float:
        """How many times larger the first layer's gradient is; 0 where it does not grow steadily."""
        steady = sum(before > after for before, after in itertools.pairwise(profile.rms))
        if profile.rms[-1] <= 0 or steady < self.steady_share * (len(profile.rms) - 1):
            return 0.0
        return profile.rms[0] / profile.rms[-1]

    def finish(self, state: RunState) -> Iterable[Finding]:
        fallen = fallen_share(state.losses.finite())
        died = any(not math.isfinite(loss) for _, loss in state.losses.points[: self.died_within])
        for model in self._models.values():
            if died and model.first_step == 1:
                model.ratios, fallen = model.ratios[:1], 0.0  # what comes after is no gradient any more
            elif len(model.ratios) < self.looks_needed or fallen is None or fallen >= self.healthy_fall:
                continue
            typical = statistics.median(model.ratios) if model.ratios else 0.0
            if typical >= 1.0 and fallen is not None:
                yield self._judge(model, typical, fallen, state)

    def _judge(self, model: _Growing, typical: float, fallen: float, state: RunState) -> Finding:
        early, late = model.names
        ratio = typical * self._limit(model)
        root = early.split(".", 1)[0]
        on_the_way = "through the time steps" if model.recurrent else "from layer to layer"
        start = f" and start from `nn.init.orthogonal_({model.recurrent})`" if model.recurrent else ""
        return self.finding(
            severity="error",
            confidence=0.85,
            message=f"The gradient of `{early}` is {ratio:.2g} times that of `{late}` on {len(model.ratios)} "
            f"looks: it grows {on_the_way}. The loss has fallen by {max(0.0, fallen):.0%}.",
            why="On its way back the gradient is multiplied with the same or like weights again and again. "
            "What is larger than 1 grows without bound, and a single batch then decides the update.",
            fix=f"Call `torch.nn.utils.clip_grad_norm_({root}.parameters(), 1.0)` right before the optimizer's "
            f"`step()`{start}.",
            where=state.place_of(module_of(early)),
            steps=(model.first_step, model.last_step),
            evidence={"ratio": ratio, "looks": float(len(model.ratios)), "loss_fallen": fallen},
        )


def _recurrent_pair(table: Table, state: RunState, reused: set[str]) -> tuple[str, str]:
    """(the last recurrent weight, a weight of a layer defined after it); empty where there is no such pair."""
    kinds = {module.path: module.kind for module in state.modules}
    shapes = {one.path: one.shape for one in state.parameters}
    names = [name for name in table.names if len(shapes.get(name, ())) >= 2]
    own = [name for name in names if "weight_hh" in name and kinds.get(module_of(name)) in _RECURRENT]
    square = [name for name in names if name in reused and len(set(shapes[name])) == 1]
    recurrent = own or square
    behind = names[names.index(recurrent[-1]) + 1 :] if recurrent else []
    once = [name for name in behind if name not in reused and kinds.get(module_of(name)) not in _RECURRENT]
    return (recurrent[-1], once[0]) if once else ("", "")
