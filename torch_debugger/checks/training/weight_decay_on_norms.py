"""TD581: strong weight decay on parameters that have no reason to be small."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.optimizer_call import highest_rate, only_decay
from torch_debugger.checks.schedules import at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, OptimizerFact, Record


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

    decoupled = ("AdamW", "NAdamW", "Lion")
    # The values from which on recipes leave norms and biases out.
    strong_decoupled = 0.05
    strong = 0.01
    # What decay alone takes off a weight over the run: learning rate x decay x steps.
    least_pull = 0.01

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        for optimizer in state.optimizers.values():
            decay, norms = only_decay(optimizer) or 0.0, _norms(optimizer, state)
            strong = self.strong_decoupled if optimizer.kind in self.decoupled else self.strong
            pull = decay * (highest_rate(optimizer) or 0.0) * state.step
            if norms and decay >= strong and pull >= self.least_pull:
                yield self._judge(optimizer, decay, norms, state)

    def _judge(self, optimizer: OptimizerFact, decay: float, norms: list[str], state: RunState) -> Finding:
        biases = sum(name.endswith(".bias") for name in optimizer.parameters)
        root = norms[0].split(".", 1)[0]
        others = f" and {len(norms) - 1} more" if len(norms) > 1 else ""
        return self.finding(
            severity="note",
            confidence=0.8,
            message=(
                f"`weight_decay={decay:g}` of `{optimizer.name}`{at_line(optimizer.place)} also pulls "
                f"`{norms[0]}`{others} of normalisation layers and {biases} biases towards zero."
            ),
            why=(
                "Decay keeps weights that are multiplied with inputs small. A scale of 1 in a normalisation "
                "layer and a bias are no larger than they need be: pulling at them only costs accuracy."
            ),
            fix=(
                "Give them a group without decay: "
                f"`[{{'params': [p for p in {root}.parameters() if p.ndim > 1]}}, "
                f"{{'params': [p for p in {root}.parameters() if p.ndim < 2], 'weight_decay': 0.0}}]`."
            ),
            where=optimizer.place,
            first_step=optimizer.step,
            last_step=max(optimizer.step, state.step),
            evidence={"weight_decay": decay, "norms": float(len(norms)), "biases": float(biases)},
        )


def _norms(optimizer: OptimizerFact, state: RunState) -> list[str]:
    """The weights of normalisation layers that the optimizer holds."""
    modules = [module for model in state.models.values() for module in model.modules]
    weights = {f"{module.path}.weight" for module in modules if "Norm" in module.kind and module.parameters}
    return [name for name in optimizer.parameters if name in weights]
