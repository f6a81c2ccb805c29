"""Sigmoids, tanhs and softmaxes that sit at their limits, and masks multiplied into scores."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.trends import fallen_share
from torch_debugger.records import Finding, MultipliedMask, Record, Squasher

_LIMITS = {"sigmoid": "0 or 1", "tanh": "-1 or 1"}


class SaturatedSigmoidOrTanh(Check):
    """Nearly all outputs of a hidden sigmoid or tanh lie at its limits, from the first steps on.

    Symptom:
        The loss hardly moves: behind a saturated activation no gradient is left for the layers before it.
    Evidence:
        On the first deep steps and on all later ones three quarters of the outputs or more of a sigmoid or tanh
        between two layers were within a fiftieth of its limits, while the loss has not fallen by nine tenths.
    Fix:
        Bring the inputs to mean 0 and deviation 1, and start from smaller weights
        (`nn.init.xavier_normal_`). ReLU or GELU do not saturate.
    Known limits:
        Gates, which are multiplied with other activations, and the model's output are not judged: they may
        well be open or closed. A run whose loss falls well is left alone.
    """

    id = "TD312"
    name = "saturated-sigmoid-or-tanh"
    title = "hidden sigmoids or tanhs sit at their limits"
    reads = (Squasher,)
    explains = ("vanishing-gradient",)

    # At the start of training about none are; normalised inputs and Xavier's weights give under a twentieth.
    saturated_share = 0.75
    looks_needed = 3
    steps_apart = 9
    # A run that lost this share of its loss learns in spite of it; the last layer alone may well halve it.
    healthy_fall = 0.9
    stuck_fall = 0.5
    losses_needed = 60

    def __init__(self) -> None:
        self._looks: dict[tuple[str, str], list[Squasher]] = {}
        self._free: set[tuple[str, str]] = set()  # seen with a slope: what saturates later was learned
        self._reported = False

    def see(self, record: Squasher, state: RunState) -> Iterable[Finding]:
        key = (record.source, record.function)
        if record.saturated < self.saturated_share:
            self._free.add(key)
        looks = self._looks.setdefault(key, [])
        looks.append(record)
        del looks[1 : -self.looks_needed]
        if not self._reported and len(state.losses.points) >= self.losses_needed:
            yield from self._tell(state, self.stuck_fall)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return self._tell(state, self.healthy_fall)

    def _tell(self, state: RunState, healthy_fall: float) -> Iterable[Finding]:
        """One finding: the saturated layer nearest to the input makes those behind it saturate."""
        stuck = [looks for key, looks in self._looks.items() if key not in self._free and self._lasted(looks)]
        fallen = fallen_share(state.losses.finite())
        if not stuck or fallen is None or fallen >= healthy_fall:
            return
        self._reported = True
        position = {module.path: number for number, module in reversed([*enumerate(state.modules)])}
        first = min(stuck, key=lambda looks: position.get(looks[0].source, len(state.modules)))
        yield self._judge(first, len(stuck), fallen, state)

    def _lasted(self, looks: list[Squasher]) -> bool:
        return len(looks) >= self.looks_needed and looks[-1].step - looks[0].step >= self.steps_apart

    def _judge(self, looks: list[Squasher], layers: int, fallen: float, state: RunState) -> Finding:
        first, last = looks[0], looks[-1]
        more = f", as those after {layers - 1} more of them" if layers > 1 else ""
        return self.finding(
            severity="error" if fallen < self.stuck_fall else "warning",
            confidence=0.9 if fallen < self.stuck_fall else 0.75,
            message=f"{last.saturated:.0%} of the outputs of the {last.function} after `{last.source}` are at "
            f"{_LIMITS[last.function]} since step {first.step}{more}; the loss has fallen by {max(0.0, fallen):.0%}.",
            why=f"At its limits a {last.function} is flat, so it passes almost no gradient back to "
            f"`{last.source}` and to all layers before it.",
            fix=f"Make what goes into the {last.function} smaller: bring the inputs of `{last.source}` to mean "
            f"0 and deviation 1, and start from `nn.init.xavier_normal_({last.source}.weight)`. "
            "`nn.ReLU()` or `nn.GELU()` instead do not saturate.",
            where=state.place_of(last.source),  # its weights and inputs are what to change
            steps=(first.step, last.step),
            evidence={
                "saturated_share": last.saturated,
                "layer": last.source,
                "layers": float(layers),
                "loss_fallen": fallen,
            },
        )


class MaskMultipliedIntoScores(Check):
    """Scores are multiplied with a mask of zeros and ones before the softmax, so nothing is masked.

    Symptom:
        The model attends to padding, or to tokens that lie in the future: in training it does too well, or
        what it says depends on the padding.
    Evidence:
        The autograd graph: a softmax takes scores that were multiplied with a tensor of zeros and ones, and
        its result is not masked again.
    Fix:
        `scores.masked_fill(mask == 0, float("-inf"))` in place of the product.
    Known limits:
        Attention inside of torch's fused functions is not seen; a mask that is all ones in the batches looked
        at tells nothing.
    """

    id = "TD321"
    name = "mask-multiplied-into-scores"
    title = "a mask is multiplied into the scores before a softmax"
    reads = (MultipliedMask,)
    explains = ("target-leakage",)

    looks_needed = 2

    def __init__(self) -> None:
        self._looks: dict[str, list[MultipliedMask]] = {}  # by line

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, MultipliedMask) and record.binary and not record.again:
            looks = self._looks.setdefault(at_line(record.place), [])
            looks.append(record)
            if len(looks) == self.looks_needed:
                yield self._judge(looks, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        certain = [looks for looks in self._looks.values() if len(looks) >= self.looks_needed]
        return [self._judge(looks, state) for looks in certain]

    def _judge(self, looks: list[MultipliedMask], state: RunState) -> Finding:
        first = looks[0]
        return self.finding(
            severity="error",
            confidence=0.93,
            message=f"The scores of a softmax{at_line(first.place)} are multiplied with a mask of zeros and ones: "
            f"{first.zeros:.0%} of them become 0, which a softmax does not leave out.",
            why="A softmax gives every score a weight in proportion to exp(score), and exp(0) is 1: a masked "
            "place gets as much as one with a middling score. Only -inf gives a weight of 0.",
            fix='Write `scores.masked_fill(mask == 0, float("-inf"))` in place of the product, in your names.',
            where=first.place,
            steps=(first.step, max(looks[-1].step, state.step)),
            evidence={"masked": first.zeros, "shape": str(first.shape), "looks": float(len(looks))},
        )
