"""TD520: a loss, or a part of it, that is maximised."""

from __future__ import annotations

import math
import re

from torch_debugger.checks.graph import at, call_of
from torch_debugger.checks.graph_ops import numbers_by_op, op_of
from torch_debugger.checks.loss_signs import ends, signs
from torch_debugger.checks.per_loss import LossGraphCheck
from torch_debugger.checks.state import RunState
from torch_debugger.records import ClassTargets, Finding, GraphNode, LossGraph, Place, Record

_NAMES = {
    "NllLoss": "cross-entropy", "NllLoss2D": "cross-entropy", "MseLoss": "mean squared error",
    "SmoothL1Loss": "smooth L1 loss", "HuberLoss": "Huber loss", "BinaryCrossEntropy": "binary cross-entropy",
    "BinaryCrossEntropyWithLogits": "binary cross-entropy",
}  # fmt: skip
_LOWERED = {
    "likelihood": ("the log-likelihood", "the data as unlikely as it can"),
    "reward": ("log-probability times reward", "rewarded actions as unlikely as it can"),
}


class LossSign(LossGraphCheck):
    """The sign is wrong: training makes an error, or the divergence of a VAE, as large as it can.

    Symptom:
        The loss falls below zero and on without end, faster and faster, and the model gets worse.
    Evidence:
        The autograd graph, followed from the loss through sums and factors: every error in it enters with a
        minus; or the divergence of a VAE does, which holds exp(logvar) - logvar and has no upper bound. Or the
        source: the loss is a mean of `log_prob(...)`, or of a log-probability times a reward, with no minus.
    Fix:
        Take the minus away, or put it there. A VAE minimises reconstruction + divergence.
    Known limits:
        Said of errors only where the script has one loss and one optimizer, and only of cross-entropy at the
        level of guessing: unlearning and adversarial training maximise a trained model's error on purpose.
    """

    id = "TD520"
    name = "loss-sign"
    title = "the loss is maximised: its sign is wrong"
    reads = (LossGraph, ClassTargets)
    explains = ("loss-not-finite", "overflow-ahead", "lr-too-high", "vanishing-gradient", "dead-relu")

    # A script's other losses have been seen by its second step.
    first_step = 2
    # Of ln(classes): a model that has not learned yet.
    guessing = 0.5

    def __init__(self) -> None:
        super().__init__()
        self._surprise: dict[str, float] = {}  # at first, as a share of ln(classes)

    def see(self, record: Record, state: RunState) -> list[Finding]:
        if isinstance(record, ClassTargets):
            share = record.surprise / math.log(max(2, record.shape[1]))
            self._surprise.setdefault(record.site, share)
        return list(super().see(record, state))

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        if any(group.get("maximize") for one in state.optimizers.values() for group in one.groups):
            return None
        if graph.lowered and self._is_only_loss(graph, state):
            return self._lowered(graph, state)
        if not numbers_by_op(graph).keys() & {"Exp", "Log", *_NAMES}:
            return None
        found = signs(graph)
        growing = _flipped_divergence(graph, found)
        if growing is not None:
            return self._finding(graph, _divergence_place(graph, growing), "divergence of the VAE", state)
        error = self._maximised(graph, found, state)
        return self._finding(graph, call_of(graph, error), _NAMES[op_of(error)], state) if error else None

    def _is_only_loss(self, graph: LossGraph, state: RunState) -> bool:
        return graph.step >= self.first_step and len(state.sites) <= 1 and len(state.optimizers) <= 1

    def _lowered(self, graph: LossGraph, state: RunState) -> Finding:
        what, result = _LOWERED[graph.lowered]
        return self.finding(
            severity="error",
            confidence=0.9,
            message=(
                f"The loss{at(graph.lowered_at)} is {what} with a plus, so training makes {result}; the loss "
                f"was {graph.loss:.4g} at step {graph.step}."
            ),
            why=(
                "An optimizer lowers what backward() is called on. What should grow needs a minus in front, or "
                "an optimizer with maximize=True."
            ),
            fix=f"Put a minus in front of {what}: `loss = -(...)`.",
            where=graph.lowered_at,
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={"part": graph.lowered, "loss": graph.loss},
        )

    def _maximised(self, graph: LossGraph, found: dict[int, int], state: RunState) -> GraphNode | None:
        """The error that enters with a minus, where nothing else is minimised."""
        if not self._is_only_loss(graph, state):
            return None
        known = numbers_by_op(graph)
        errors = sorted(index for op in _NAMES for index in known.get(op, ()))
        minimised = any(found[index] > 0 for index in ends(graph, found))
        if not errors or minimised or not all(index in found for index in errors):
            return None
        if self._surprise.get(graph.site, 1.0) < self.guessing:
            return None
        return graph.nodes[errors[0]]

    def _finding(self, graph: LossGraph, where: Place, what: str, state: RunState) -> Finding:
        return self.finding(
            severity="error",
            confidence=0.94 if what.startswith("div") else 0.9,
            message=(
                f"The {what} enters the loss{at(where)} with a minus, so training makes it as large as it can; "
                f"the loss was {graph.loss:.4g} at step {graph.step}."
            ),
            why=(
                "An optimizer lowers what backward() is called on. With a minus in front, the lowest value is "
                "minus infinity, and the way there is to be as wrong as possible."
            ),
            fix=(
                "Turn the sign: the loss is reconstruction + divergence, with the divergence as "
                "`-0.5 * (1 + logvar - mu.pow(2) - logvar.exp())`."
                if what.startswith("div")
                else f"Take the minus in front of the {what} away."
            ),
            where=where,
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={"part": what, "loss": graph.loss},
        )


def _flipped_divergence(graph: LossGraph, found: dict[int, int]) -> GraphNode | None:
    """exp(x) maximised and x minimised, or y maximised and log(y) minimised: no bound holds that."""
    known = numbers_by_op(graph)
    powers: list[int] = sorted([*known.get("Exp", ()), *known.get("Log", ())])
    for index in powers:
        node = graph.nodes[index]
        inner = node.inputs[0] if node.inputs else None
        if inner is None:
            continue
        larger, smaller = (index, inner) if op_of(node) == "Exp" else (inner, index)
        if found.get(larger) == -1 and found.get(smaller) == 1:
            return node
    return None


def _divergence_place(graph: LossGraph, node: GraphNode) -> Place:
    """The line that subtracts it from the loss; else the one that computes it."""
    if graph.made.file and re.search(r"[\w)\]] - ", graph.made.code or ""):
        return graph.made
    if node.place is not None and node.place.file:
        return node.place
    return graph.made if graph.made.file else graph.place
