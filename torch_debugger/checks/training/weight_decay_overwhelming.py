"""TD580: weight decay that outweighs everything the gradients ask for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check
from torch_debugger.checks.curves import fallen_share
from torch_debugger.checks.schedules import at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, OptimizerFact, Record, TensorRows


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
    # Decay that is applied beside the update (decoupled) competes with steps of about the learning rate.
    decoupled = ("AdamW", "NAdamW", "Lion")

    def __init__(self) -> None:
        self._seen: dict[str, _Looks] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, TensorRows)
        if record.table.kind != "parameter":
            return ()
        optimizer = state.optimizers.get(record.table.root)
        decay = _decay(optimizer)
        if optimizer is not None and decay:
            self._look(self._seen.setdefault(optimizer.name, _Looks()), record, decay, optimizer.kind)
        return ()

    def _look(self, seen: _Looks, record: TensorRows, decay: float, kind: str) -> None:
        names = record.table.names
        gradients, weights, elements = (record.column(key) for key in ("grad_norm", "weight_norm", "elements"))
        pulls = []
        for name, gradient, weight, count in zip(names, gradients, weights, elements, strict=True):
            push = math.sqrt(count) if kind in self.decoupled else gradient
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
                yield self._found(optimizer, seen, fallen)

    def _found(self, optimizer: OptimizerFact, seen: _Looks, fallen: float) -> Finding:
        decay = _decay(optimizer) or 0.0
        pull = sorted(seen.pulls)[len(seen.pulls) // 2]
        usual = 0.01 if optimizer.kind in self.decoupled else 1e-4
        return self.finding(
            severity="error",
            confidence=0.9,
            message=(
                f"`weight_decay={decay:g}` of `{optimizer.name}`{at_line(optimizer.place)} outweighs the "
                f"gradients {pull:.2g} times: the weights shrank from norm {seen.first_norm:.3g} to "
                f"{seen.last_norm:.3g} by step {seen.last_step}, and the loss {_words(fallen)}."
            ),
            why="Decay pulls every weight to zero at each step. Where it pulls harder than the gradients push, "
            "nothing that is learned stays.",
            fix=f"Lower `weight_decay` of `{optimizer.name}`{at_line(optimizer.place)} from {decay:g} to "
            f"{usual:g}.",
            where=optimizer.place,
            first_step=1,
            last_step=seen.last_step,
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


def _words(fallen: float) -> str:
    return f"fell by only {100 * fallen:.0f} %" if fallen > 0.01 else "did not fall"
