"""TD301: rectifiers that answer zero to everything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check
from torch_debugger.checks.curves import fallen_share
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, Place, Record, Rectifier


@dataclass
class _Layer:
    """One rectifier over the deep steps of a run."""

    streak: list[Rectifier] = field(default_factory=list)  # deep steps in a row with most units dead
    was_alive: bool = False
    reported: bool = False


class DeadRelu(Check):
    """Most units of a ReLU layer give zero for every sample, step after step.

    Symptom:
        The loss hardly moves, or the model answers the same to every input. A unit that is zero for all
        samples gets no gradient, so it does not come back by itself.
    Evidence:
        On several deep steps in a row most units of the layer were zero for every sample of the batch.
    Fix:
        Dead from the first step: mend the start values (He initialisation, bias 0) and scale the inputs.
        Dead later: use a smaller learning rate. `nn.LeakyReLU` keeps a small gradient in either case.
    Known limits:
        With batches below 16 samples only a layer that is dead as a whole is reported. Layers with
        fewer than 8 units are not judged. While the loss falls well, the severity is one lower.
    """

    id = "TD301"
    name = "dead-relu"
    title = "most units of a ReLU layer are dead"
    reads = (Rectifier,)
    explains = ("vanishing-gradient",)

    # Share of units that are zero for a whole batch; at the start of training about none are.
    dead_share_error = 0.9
    dead_share_warning = 0.5
    # A narrow layer loses many of its units by chance.
    smallest_layer = 8
    # A unit active on one sample in ten is silent for a batch of 16 with a chance of 0.19, for 8 with 0.43.
    smallest_batch = 16
    deep_steps = 3
    # A batch of odd samples passes; death does not.
    steps_apart = 10
    # A run that has lost this share of its loss is learning without those units.
    healthy_fall = 0.5

    def __init__(self) -> None:
        self._layers: dict[str, _Layer] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, Rectifier)
        if record.units < self.smallest_layer:
            return
        layer = self._layers.setdefault(record.name, _Layer())
        self._count(layer, record)
        long_enough = len(layer.streak) >= self.deep_steps and (
            record.step - layer.streak[0].step >= self.steps_apart
        )
        if long_enough and not layer.reported:
            layer.reported = True
            yield self._judge(layer, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for layer in self._layers.values():
            if len(layer.streak) >= self.deep_steps:
                yield self._judge(layer, state)

    def _count(self, layer: _Layer, record: Rectifier) -> None:
        share = record.dead_units / record.units
        whole = record.dead_units == record.units
        if share > self.dead_share_warning and (whole or record.batch >= self.smallest_batch):
            if layer.streak and layer.streak[-1].step == record.step:  # called twice in one step
                layer.streak.pop()
            layer.streak.append(record)
            # Enough for the story: how it began, and the last deep steps.
            del layer.streak[1 : -self.deep_steps]
            return
        layer.streak.clear()
        layer.was_alive = True

    def _severity(self, share: float, state: RunState) -> str:
        fallen = fallen_share(state.losses.finite())
        learning = fallen is not None and fallen >= self.healthy_fall
        if share > self.dead_share_error:
            return "warning" if learning else "error"
        return "note" if learning else "warning"

    def _judge(self, layer: _Layer, state: RunState) -> Finding:
        first, last = layer.streak[0], layer.streak[-1]
        share = min(record.dead_units / record.units for record in layer.streak)
        name = last.name if last.source in last.name else f"`{last.name}` (fed by `{last.source}`)"
        since = f"since step {first.step}" if layer.was_alive else f"from the first look, step {first.step}, on"
        return self.finding(
            severity=self._severity(share, state),
            confidence=0.95 if share > self.dead_share_error else 0.8,
            message=(
                f"{last.dead_units} of {last.units} units of {name} are dead {since}: zero for every sample of "
                f"the batch ({last.batch} samples)."
            ),
            why=(
                "A ReLU that is zero for all samples passes no gradient back, so the weights that feed it "
                "stop learning and the unit stays dead."
            ),
            fix=_fix(layer, last, state),
            where=_where(last, state),
            first_step=first.step,
            last_step=last.step,
            evidence={
                "dead_units": float(last.dead_units),
                "units": float(last.units),
                "dead_share": share,
                "zeros": last.zeros,
                "batch": float(last.batch),
                "source": last.source,
            },
        )


def _where(last: Rectifier, state: RunState) -> Place:
    """The rectifier's own line, else that of the layer that feeds it."""
    feeding = state.module(last.source)
    place = last.place if last.place.file or feeding is None else feeding.place
    return Place(place.file, place.line, last.source, place.code)


def _fix(layer: _Layer, last: Rectifier, state: RunState) -> str:
    spare = "`nn.LeakyReLU(0.01)` instead of ReLU keeps a gradient."
    if not layer.was_alive:
        return (
            f"It was so before training could do it: check the start values of `{last.source}` (a bias far "
            "below 0, weights too large) and the scale of its inputs; `nn.init.kaiming_normal_` with bias 0 is "
            f"safe. {spare}"
        )
    rates = [group["lr"] for one in state.optimizers.values() for group in one.groups if "lr" in group]
    rate = f" from {max(rates):g} to {max(rates) / 10:g}" if rates else " by a factor of 10"
    return f"Training killed it: lower the learning rate{rate}, or clip the gradients. {spare}"
