"""Overfitting, and weight decay that is too strong."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.call_edits import highest_rate, only_decay
from torch_debugger.checks.trends import fallen_share, rising_share
from torch_debugger.records import CheckpointLoad, Finding, OptimizerFact, Place, Record, Scalars, TensorRows

_LOGGED = re.compile(r"user/.*\b(val|valid|validation|dev|test)\b.*loss|user/.*loss.*\b(val|validation|dev)\b")


class OverfitsTrainingData(Check):
    """The validation loss rises for a long time while the training loss goes on falling.

    Symptom:
        The model gets ever better on the data it is trained on and worse on all other.
    Evidence:
        Losses computed without gradients, or logged by the script under a name for validation: the lowest lies
        five evaluations or more back, the last ones are half as large again and still rise, while the training
        loss fell to less than half of what it was then.
    Fix:
        Keep the weights of the best evaluation and stop there; more data, augmentation, weight decay or
        dropout move that point back.
    Known limits:
        Validation with functions (`F.cross_entropy`) is seen where its result is logged, or kept as a number
        in a variable named like `val_loss`. A script that loads weights again after its best evaluation is
        taken to keep the best ones and is left alone.
    """

    id = "TD552"
    name = "overfits-training-data"
    title = "the validation loss rises while the training loss falls"
    reads = (Scalars, CheckpointLoad)

    evaluations_needed = 6
    since_best = 5
    risen = 1.5
    still_rising = 0.6  # share of neighbours
    fallen = 0.5
    # The two losses are of one kind: at the first evaluation they are this close.
    alike = 4.0

    def __init__(self) -> None:
        self._curves: dict[str, list[tuple[int, float]]] = {}
        self._last_load = 0

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, CheckpointLoad):
            self._last_load = max(self._last_load, record.step)
        elif isinstance(record, Scalars):
            for tag, value in record.values.items():
                if tag.startswith("eval/") or (tag.startswith("user/") and _LOGGED.match(tag.lower())):
                    self._curves.setdefault(tag, []).append((record.step, value))

    def finish(self, state: RunState) -> Iterable[Finding]:
        if len(state.sites) > 1:
            return
        for tag, points in self._curves.items():
            best = min(points, key=lambda point: point[1])
            if self._is_rising(points) and self._last_load < best[0]:
                finding = self._judge(tag, best, points, state)
                if finding is not None:
                    yield finding
                    return

    def _is_rising(self, points: list[tuple[int, float]]) -> bool:
        values = [value for _, value in points]
        if len(values) < self.evaluations_needed or min(values) <= 0:
            return False
        since = points[values.index(min(values)) :]
        if len(since) <= self.since_best or rising_share(since) < self.still_rising:
            return False
        return statistics.median(values[-3:]) >= self.risen * min(values)

    def _judge(
        self, tag: str, best: tuple[int, float], points: list[tuple[int, float]], state: RunState
    ) -> Finding | None:
        start, then = _level(state, points[0][0]), _level(state, best[0])
        now, last = _level(state, state.step), statistics.median(value for _, value in points[-3:])
        if min(start, then) <= 0 or now > self.fallen * then:
            return None
        if not 1 / self.alike <= points[0][1] / start <= self.alike:
            return None
        optimizer = next(iter(state.optimizers.values()), None)
        name = tag.split("/", 1)[1]
        advice = f"Stop at step {best[0]}, or keep a copy of the weights whenever the validation loss is a new best."
        if optimizer is not None:
            decay = max((group.get("weight_decay", 0.0) for group in optimizer.groups), default=0.0)
            stronger = f"a `weight_decay` above {decay:g}" if decay else "a `weight_decay` (1e-2 with AdamW)"
            advice += f" Against it help more data or augmentation, dropout, and {stronger} for `{optimizer.name}`."
        return self.finding(
            severity="warning",
            confidence=0.85,
            message=f"The validation loss (`{name}`) was lowest at step {best[0]} with {best[1]:.3g} and is "
            f"{last:.3g} now, while the training loss fell from {then:.3g} to {now:.3g}.",
            why="From there on the model learns the single samples of the training data by heart, and what it "
            "learns does not hold for others.",
            fix=advice,
            where=optimizer.place if optimizer else Place(),
            steps=(best[0], state.step),
            evidence={
                "best_validation_loss": best[1],
                "last_validation_loss": last,
                "best_step": float(best[0]),
                "evaluations": float(len(points)),
                "training_loss_then": then,
                "training_loss_now": now,
            },
        )


def _level(state: RunState, step: int) -> float:
    """The training loss around a step: the twenty losses up to it."""
    before = [value for at, value in state.losses.finite() if at <= step][-20:]
    return statistics.median(before) if before else 0.0


# Decay that is applied beside the update (decoupled) competes with steps of about the learning rate.
_DECOUPLED = ("AdamW", "NAdamW", "Lion")


@dataclass
class _Looks:
    """What was seen of one optimizer's weights."""

    outweighed: int = 0  # looks at which decay pulled harder than the gradient at most weights
    looks: int = 0
    pulls: list[float] = field(default_factory=list)  # decay beside gradient, median over the weights
    first_norm: float = math.nan
    last_norm: float = math.nan
    last_step: int = 0
    falls: bool = True  # the norm of the weights, from look to look


class WeightDecayOverwhelming(Check):
    """Weight decay pulls the weights to zero harder than the gradients push them anywhere.

    Symptom:
        The loss stays where it began, or returns there: the model answers the same to every input. A lower
        learning rate does not help.
    Evidence:
        For most weights the decay term (`weight_decay` times the norm of the weight) was larger than the
        gradient when the run began, the norm of all weights shrank to a small part, and the loss did not fall.
    Fix:
        Divide `weight_decay` by 100 or more: 1e-4 is usual with SGD and Adam, 0.01 to 0.1 with AdamW.
    Known limits:
        Judged where all groups of the optimizer have the same weight decay or none, and only if the loss did
        not fall: strong decay can be what a small data set needs.
    """

    id = "TD580"
    name = "weight-decay-overwhelming"
    title = "weight decay outweighs the gradients"
    reads = (TensorRows,)
    explains = ("lr-too-high", "vanishing-gradient", "dead-relu", "collapsed-representation")

    # The start of a run: near a minimum the two are equal in any run.
    first_looks = 8
    outweighed_share = 0.7
    # What is left of the norm of the weights at the last look, which may come long before the end; it must
    # have fallen from look to look until then.
    shrunk = 0.95
    # Of the loss, gone; a model that answers the same to all inputs can be a little better than a new one.
    not_learned = 0.25

    def __init__(self) -> None:
        self._seen: dict[str, _Looks] = {}

    def see(self, record: TensorRows, state: RunState) -> None:
        if record.table.kind != "parameter":
            return
        optimizer = state.optimizers.get(record.table.root)
        decay = _decay(optimizer)
        if optimizer is not None and decay:
            self._look(self._seen.setdefault(optimizer.name, _Looks()), record, decay, optimizer.kind)

    def _look(self, seen: _Looks, record: TensorRows, decay: float, kind: str) -> None:
        names = record.table.names
        gradients, weights, elements = (record.column(key) for key in ("grad_norm", "weight_norm", "elements"))
        pulls = []
        for name, gradient, weight, count in zip(names, gradients, weights, elements, strict=True):
            push = math.sqrt(count) if kind in _DECOUPLED else gradient
            if "bias" not in name.rpartition(".")[2] and push > 0:  # a recurrent layer has bias_ih_l0
                pulls.append(decay * weight / push)
        norm = math.sqrt(sum(weight * weight for weight in weights))
        seen.first_norm = norm if math.isnan(seen.first_norm) else seen.first_norm
        seen.falls &= not norm > seen.last_norm or norm < self.shrunk * seen.first_norm
        seen.last_norm, seen.last_step = norm, record.step
        if pulls and seen.looks < self.first_looks:
            seen.looks += 1
            middle = sorted(pulls)[len(pulls) // 2]
            seen.outweighed += middle > 1.0
            seen.pulls.append(middle)

    def finish(self, state: RunState) -> Iterable[Finding]:
        fallen = fallen_share(state.losses.finite())
        for name, seen in self._seen.items():
            optimizer = state.optimizers[name]
            outweighed = seen.looks >= 3 and seen.outweighed >= self.outweighed_share * seen.looks
            shrunk = seen.falls and seen.last_norm <= self.shrunk * seen.first_norm
            if outweighed and shrunk and fallen is not None and fallen < self.not_learned:
                decay = _decay(optimizer) or 0.0
                pull = sorted(seen.pulls)[len(seen.pulls) // 2]
                fell = f"fell by only {100 * fallen:.0f} %" if fallen > 0.01 else "did not fall"
                usual = 0.01 if optimizer.kind in _DECOUPLED else 1e-4
                yield self.finding(
                    severity="error",
                    confidence=0.9,
                    message=f"`weight_decay={decay:g}` of `{optimizer.name}`{at_line(optimizer.place)} outweighs the "
                    f"gradients {pull:.2g} times: the weights shrank from norm {seen.first_norm:.3g} to "
                    f"{seen.last_norm:.3g} by step {seen.last_step}, and the loss {fell}.",
                    why="Decay pulls every weight to zero at each step. Where it pulls harder than the gradients push, "
                    "nothing that is learned stays.",
                    fix=f"Lower `weight_decay` of `{optimizer.name}`{at_line(optimizer.place)} from {decay:g} to "
                    f"{usual:g}.",
                    where=optimizer.place,
                    steps=(1, seen.last_step),
                    evidence={
                        "weight_decay": decay,
                        "decay_to_gradient": pull,
                        "first_weight_norm": seen.first_norm,
                        "last_weight_norm": seen.last_norm,
                        "loss_fallen": fallen,
                    },
                )


def _decay(optimizer: OptimizerFact | None) -> float | None:
    """The one weight decay, beside groups that have none; None where groups differ otherwise."""
    decays = {group.get("weight_decay", 0.0) for group in optimizer.groups} if optimizer else set()
    return decays.pop() if len(decays := decays - {0.0}) == 1 else None


class WeightDecayOnNorms(Check):
    """Strong weight decay pulls the scales of normalisation layers and the biases to zero as well.

    Symptom:
        None in the short run. In a long one the scales of LayerNorm and BatchNorm drift below 1 and the layers
        behind them get smaller inputs; it is a small loss of quality, not a fault.
    Evidence:
        One and the same `weight_decay`, of 0.05 or more where it is decoupled (AdamW), in all groups of an
        optimizer that holds parameters of normalisation layers.
    Fix:
        A group with `weight_decay=0.0` for all parameters of fewer than two dimensions.
    Known limits:
        Advice, never more than a note. Decay below these values is not told, nor runs so short that decay
        takes less than a hundredth off the weights. Groups with different decays are taken to be meant.
    """

    id = "TD581"
    name = "weight-decay-on-norms"
    title = "strong weight decay on normalisation layers and biases"
    reads = (OptimizerFact,)

    # The values from which on recipes leave norms and biases out.
    strong_decoupled = 0.05
    strong = 0.01
    # What decay alone takes off a weight over the run: learning rate x decay x steps.
    least_pull = 0.01

    def see(self, record: Record, state: RunState) -> None:
        """Only the end shows how many steps decay has had."""

    def finish(self, state: RunState) -> Iterable[Finding]:
        normed = {f"{module.path}.weight" for module in state.modules if "Norm" in module.kind and module.parameters}
        for optimizer in state.optimizers.values():
            norms = [name for name in optimizer.parameters if name in normed]
            decay = only_decay(optimizer) or 0.0
            strong = self.strong_decoupled if optimizer.kind in _DECOUPLED else self.strong
            pull = decay * (highest_rate(optimizer) or 0.0) * state.step
            if norms and decay >= strong and pull >= self.least_pull:
                biases = sum(name.endswith(".bias") for name in optimizer.parameters)
                root = norms[0].split(".", 1)[0]
                others = f" and {len(norms) - 1} more" if len(norms) > 1 else ""
                yield self.finding(
                    severity="note",
                    confidence=0.8,
                    message=f"`weight_decay={decay:g}` of `{optimizer.name}`{at_line(optimizer.place)} also pulls "
                    f"`{norms[0]}`{others} of normalisation layers and {biases} biases towards zero.",
                    why="Decay keeps weights that are multiplied with inputs small. A scale of 1 in a normalisation "
                    "layer and a bias are no larger than they need be: pulling at them only costs accuracy.",
                    fix=f"Give them a group without decay: `[{{'params': [p for p in {root}.parameters() if p.ndim > "
                    f"1]}}, {{'params': [p for p in {root}.parameters() if p.ndim < 2], 'weight_decay': 0.0}}]`.",
                    where=optimizer.place,
                    steps=(optimizer.step, max(optimizer.step, state.step)),
                    evidence={"weight_decay": decay, "norms": float(len(norms)), "biases": float(biases)},
                )
