"""Start values that are too large, too small, or all alike."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

from torch_debugger.checks.base import Check, RunState, at_line, within
from torch_debugger.checks.optimization import module_of, relative_spread
from torch_debugger.checks.trends import fallen_share
from torch_debugger.records import Finding, HandMadeWeights, ModelFact, Record, TensorRows, TwinUnits

_BY_INPUTS = "`nn.init.kaiming_normal_(layer.weight)` where ReLU follows, `nn.init.xavier_normal_` for tanh"


@dataclass(frozen=True)
class _Signal:
    """The deviation of every layer's output, first layer first, before any update."""

    names: tuple[str, ...]
    sizes: tuple[float, ...]

    @property
    def factor(self) -> float:
        """Per layer."""
        return float((self.sizes[-1] / self.sizes[0]) ** (1 / (len(self.sizes) - 1)))

    def share(self, grows: bool) -> float:
        """Of all neighbours, those that go along."""
        pairs = list(itertools.pairwise(self.sizes))
        return sum((after > before) == grows for before, after in pairs) / len(pairs)


class BadInitScale(Check):
    """The weights start so large or so small that the signal explodes or fades from layer to layer.

    Symptom:
        The first losses are enormous and then the loss jumps about, or it stands still from the start because
        every sample looks the same to the last layer.
    Evidence:
        In the first step, before any update: the deviation of the layers' outputs grows or shrinks by a like
        factor from each layer to the next, over four layers or more, and the weights are that much larger or
        smaller than what keeps a signal's size. The loss has not fallen well since. In functional style: three
        or more matrices of no module that were drawn several times too large.
    Fix:
        Choose the deviation by the layer's inputs: `nn.init.kaiming_normal_` for ReLU,
        `nn.init.xavier_normal_` for tanh and sigmoid, or leave torch's own start values.
    Known limits:
        Models with normalisation layers are not judged: they undo the scale. Torch's own start values shrink
        the signal too, by a factor near 0.4 with ReLU; that is not reported.
    """

    id = "TD317"
    name = "bad-init-scale"
    title = "start values make the signal explode or fade over the layers"
    reads = (TensorRows, HandMadeWeights)
    explains = (
        "vanishing-gradient", "exploding-gradient", "dead-relu", "saturated-sigmoid-or-tanh", "lr-too-high",
        "loss-not-finite", "overflow-ahead", "initial-loss-unexpected",
    )  # fmt: skip

    layers_needed = 4
    steady_share = 0.75
    # Per layer, and what the weights must be beside those that keep the size (torch's own: 0.58).
    growing, large_weights = 2.5, 2.0
    shrinking, small_weights = 0.3, 0.3
    # Of matrices that belong to no module.
    matrices_needed, large_own = 3, 4.0
    # From the first layer to the last.
    grown_in_all, shrunk_in_all = 100.0, 1e-3
    # A run that lost this share of its loss lives with it; a loss that starts enormous falls in any case.
    healthy_fall, healthy_fall_from_enormous = 0.9, 0.9999

    def __init__(self) -> None:
        self._signals: dict[str, _Signal] = {}
        self._spread = math.nan
        self._own: HandMadeWeights | None = None

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, HandMadeWeights):
            self._own = record if record.step == 1 else None
            return
        assert isinstance(record, TensorRows)
        if record.step == 1:
            if record.table.kind == "activation" and record.table.root in state.models:
                self._signals.setdefault(record.table.root, _read(record, state.models[record.table.root]))
            elif record.table.kind == "parameter" and math.isnan(self._spread):
                self._spread = relative_spread(record, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for root, signal in self._signals.items():
            model = state.models[root]
            if any("Norm" in module.kind for module in model.modules) or len(signal.sizes) < self.layers_needed:
                continue
            if self._is_off(signal) and self._does_harm(signal.factor, state):
                grows = signal.factor > 1
                first, last, filled = signal.names[0], signal.names[-1], model.filled
                yield self.finding(
                    severity="error",
                    confidence=0.9,
                    message=f"Before the first update the signal {'grows' if grows else 'shrinks'} by a factor of "
                    f"{signal.factor:.2g} from layer to layer, from a deviation of {signal.sizes[0]:.2g} after "
                    f"`{first}` to {signal.sizes[-1]:.2g} after `{last}`.",
                    why=f"The weights are {self._spread:.2g} times the size that keeps a signal as it is, and over "
                    f"{len(signal.sizes)} layers this multiplies; the gradient on its way back suffers the same.",
                    fix=(
                        f"Replace `{filled.code}` by {_BY_INPUTS}, or leave it out: torch's own start values are fine."
                        if filled.code
                        else f"Start from {_BY_INPUTS}; they take the layer's number of inputs into account."
                    ),
                    where=within(filled, first) if filled.file else state.place_of(first),
                    steps=(1, 1),
                    evidence={
                        "factor": signal.factor,
                        "first_deviation": signal.sizes[0],
                        "last_deviation": signal.sizes[-1],
                        "layers": float(len(signal.sizes)),
                        "relative_spread": self._spread,
                    },
                )
        own = self._own
        if (
            own is not None
            and own.count >= self.matrices_needed
            and own.spread >= self.large_own
            and self._does_harm(own.spread, state)
        ):
            yield self.finding(
                severity="error",
                confidence=0.88,
                message=f"Before the first update the {own.count} weight matrices{at_line(own.place)} are "
                f"{own.spread:.2g} times the size that keeps a signal as it is: it grows by about that factor in each "
                "layer.",
                why="`torch.randn` draws with a deviation of 1, however many inputs are added up. The outputs are "
                "enormous then, and so are the first losses and gradients.",
                fix="Divide by the root of the number of inputs where the weights are drawn"
                f"{at_line(own.place)}: `(torch.randn(n_out, n_in) * (2 / n_in) ** 0.5).requires_grad_()`.",
                where=own.place,
                steps=(1, 1),
                evidence={"relative_spread": own.spread, "matrices": float(own.count)},
            )

    def _does_harm(self, factor: float, state: RunState) -> bool:
        points = state.losses.points
        if points and not math.isfinite(points[-1][1]):
            return True
        fallen = fallen_share(state.losses.finite())
        healthy = self.healthy_fall_from_enormous if factor > 1 else self.healthy_fall
        return fallen is not None and fallen < healthy

    def _is_off(self, signal: _Signal) -> bool:
        whole = signal.sizes[-1] / signal.sizes[0]
        if signal.factor >= self.growing:
            steady = signal.share(True) >= self.steady_share
            return steady and whole >= self.grown_in_all and self._spread >= self.large_weights
        steady = signal.share(False) >= self.steady_share
        small = signal.factor <= self.shrinking and self._spread <= self.small_weights
        return steady and small and whole <= self.shrunk_in_all


def _read(rows: TensorRows, model: ModelFact) -> _Signal:
    """Layers with a weight of their own, in the order in which they ran."""
    owners = {one.path.rpartition(".")[0] for one in model.parameters if len(one.shape) >= 2}
    kinds = {module.path: module.kind for module in model.modules}
    layers = {name for name in owners if not kinds.get(name, "").startswith("Embedding")}
    sizes = rows.by_name("std").items()
    known = [(name, size) for name, size in sizes if name in layers and 0 < size < math.inf]
    return _Signal(tuple(name for name, _ in known), tuple(size for _, size in known))


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
        self._reported: set[str] = set()

    def see(self, record: TwinUnits, state: RunState) -> Iterable[Finding]:
        looks = self._looks.setdefault(record.optimizer, [])
        looks.append(record)
        del looks[1 : -self.looks_needed]
        if record.optimizer not in self._reported:
            finding = self._judge(looks, state)
            if finding is not None:
                self._reported.add(record.optimizer)
                yield finding

    def finish(self, state: RunState) -> Iterable[Finding]:
        found = [self._judge(self._looks[name], state) for name in sorted(self._reported)]
        return [finding for finding in found if finding is not None]

    def _judge(self, looks: list[TwinUnits], state: RunState) -> Finding | None:
        recent = looks[-self.looks_needed :]
        if len(recent) < self.looks_needed:
            return None
        alike = [name for name in recent[-1].alike if all(name in look.alike for look in recent)]
        alike = [name for name in alike if _counts(name, state)]
        silent = [name for name in recent[-1].silent if all(name in look.silent for look in recent)]
        if alike:
            return self._found(alike, "get the same gradient", looks, state)
        if len(silent) >= 2 and len(silent) == recent[-1].matrices:
            return self._found(silent, "get a gradient of exactly 0", looks, state)
        return None

    def _found(self, names: list[str], gradient: str, looks: list[TwinUnits], state: RunState) -> Finding:
        last, weight = looks[-1], names[0]
        place, layer = last.place, module_of(weight)
        random = f"random values: `nn.init.kaiming_normal_({weight})`, and so for the others"
        instead = f"Replace `{place.code}` by {random}" if place.code else f"Give the weights {random}"
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return self.finding(
            severity="error",
            confidence=0.97,
            message=f"All units of `{weight}`{others} have the same weights and {gradient} since step "
            f"{looks[0].step}: they are copies of one unit and stay so.",
            why="Units that start alike compute the same, so the loss asks the same of each of them. Only "
            "different start values let them learn different things.",
            fix=f"{instead}; a bias may stay constant.",
            where=within(place, layer) if place.file else state.place_of(layer),
            steps=(looks[0].step, last.step),
            evidence={"layers": ", ".join(names[:8]), "count": float(len(names)), "matrices": float(last.matrices)},
        )


def _counts(parameter: str, state: RunState) -> bool:
    """The rows of an embedding are words, and words that are not in the batch get no gradient."""
    module = state.module(module_of(parameter))
    return module is None or not module.kind.startswith("Embedding")
