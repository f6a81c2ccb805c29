"""TD553: a GAN whose discriminator has nothing left to learn."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.curves import start_level
from torch_debugger.checks.graph_ops import op_of
from torch_debugger.checks.optimizer_call import change_rate, highest_rate
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, LossGraph, OptimizerFact, Place, Record, Scalars

_LOSSES = ("BinaryCrossEntropy", "BinaryCrossEntropyWithLogits")


class DiscriminatorWins(Check):
    """The discriminator of a GAN tells real from fake without error, so the generator learns nothing more.

    Symptom:
        The discriminator's loss goes to 0, the generator's grows, and its samples do not get better.
    Evidence:
        Two optimizers, and a loss whose graph runs through both models: the generator's. Over the last third of
        the run the discriminator's binary cross-entropy was next to 0 and the generator's large and higher than
        at the start.
    Fix:
        Slow the discriminator down: a smaller learning rate, fewer steps, labels of 0.9, noise on its inputs;
        or give the generator a larger rate.
    Known limits:
        Only GANs with binary cross-entropy are judged; a Wasserstein or hinge loss has no such zero.
    """

    id = "TD553"
    name = "discriminator-wins"
    title = "the discriminator is too good for the generator to learn"
    reads = (LossGraph, Scalars)

    steps_needed = 100
    # In nats: 0.02 means 98 % sure and right on nearly every sample; two sums of it may count as one loss.
    discriminator_below = 0.03
    # The generator's samples are believed with a probability below e**-4.
    generator_above = 4.0
    generator_risen = 2.0

    def __init__(self) -> None:
        self._roots: dict[str, set[str]] = {}  # site -> models whose parameters its graph ends in
        self._curves: dict[str, list[float]] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LossGraph):
            if any(op_of(node) in _LOSSES for node in record.nodes):
                found = {(node.parameter or "").split(".", 1)[0] for node in record.nodes} & set(state.models)
                self._roots.setdefault(record.site, set()).update(found)
        elif isinstance(record, Scalars):
            for tag, value in record.values.items():
                if tag.startswith("loss/"):
                    self._curves.setdefault(tag.removeprefix("loss/"), []).append(value)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        if len(state.optimizers) != 2 or state.step < self.steps_needed:
            return
        sites = {site: roots for site, roots in self._roots.items() if site in self._curves}
        generators = [site for site, roots in sites.items() if len(roots) == 2]
        judges = [site for site, roots in sites.items() if len(roots) == 1]
        roots = {root for site in judges for root in sites[site]}
        if len(generators) == 1 and len(roots) == 1 and roots <= sites[generators[0]]:
            yield from self._judge(generators[0], judges, roots.pop(), state)

    def _judge(self, generator: str, judges: list[str], root: str, state: RunState) -> Iterable[Finding]:
        curve = self._curves[generator]
        start, now = start_level(list(enumerate(curve))), _late(curve)
        lost = max(_late(self._curves[site]) for site in judges)
        if lost > self.discriminator_below or now < max(self.generator_above, self.generator_risen * start):
            return
        optimizer = _owner(root, state)
        yield self.finding(
            severity="warning",
            confidence=0.85,
            message=(
                f"The discriminator `{root}` has won: over the last third of the run its loss is {lost:.2g}, "
                f"while the generator's (`{generator}`) went from {start:.2g} to {now:.3g}."
            ),
            why=(
                "A discriminator that is sure of every sample has almost no slope left, so what it tells the "
                "generator is no longer a direction."
            ),
            fix=_fix(root, optimizer),
            where=optimizer.place if optimizer else Place(),
            first_step=1,
            last_step=state.step,
            evidence={"discriminator_loss": lost, "generator_loss": now, "generator_loss_start": start},
            edit=change_rate(optimizer, 0.25) if optimizer else None,
        )


def _late(curve: list[float]) -> float:
    return statistics.median(curve[-max(1, len(curve) // 3) :])


def _owner(root: str, state: RunState) -> OptimizerFact | None:
    owners = [
        one for one in state.optimizers.values() if any(name.startswith(f"{root}.") for name in one.parameters)
    ]
    return owners[0] if owners else None


def _fix(root: str, optimizer: OptimizerFact | None) -> str:
    rate = highest_rate(optimizer)
    slower = (
        f"Lower `lr` of `{optimizer.name}` from {rate:g} to {rate / 4:g}"
        if optimizer is not None and rate is not None
        else f"Lower the learning rate of `{root}`'s optimizer"
    )
    return f"{slower}, or train `{root}` on every second step only; labels of 0.9 instead of 1 help too."
