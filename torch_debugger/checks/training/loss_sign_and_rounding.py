"""Losses with a wrong sign, or computed from rounded outputs."""

from __future__ import annotations

import math
import re

from torch_debugger.checks.base import RunState, at_line, numbers_by_op, op_of
from torch_debugger.checks.loss_graph import SHAPE_ONLY, LossGraphCheck, call_of, line_of
from torch_debugger.records import AutogradNode, ClassTargets, Finding, LossGraph, Place, Record

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
            what, result = _LOWERED[graph.lowered]
            return self.finding(
                severity="error",
                confidence=0.9,
                message=f"The loss{at_line(graph.lowered_at)} is {what} with a plus, so training makes {result}; the "
                f"loss was {graph.loss:.4g} at step {graph.step}.",
                why="An optimizer lowers what backward() is called on. What should grow needs a minus in front, or "
                "an optimizer with maximize=True.",
                fix=f"Put a minus in front of {what}: `loss = -(...)`.",
                where=graph.lowered_at,
                steps=(graph.step, max(graph.step, state.step)),
                evidence={"part": graph.lowered, "loss": graph.loss},
            )
        if not numbers_by_op(graph).keys() & {"Exp", "Log", *_NAMES}:
            return None
        found = signs(graph)
        growing = _flipped_divergence(graph, found)
        if growing is not None:
            # The line that subtracts it from the loss; else the one that computes it.
            subtracts = graph.made.file and re.search(r"[\w)\]] - ", graph.made.code or "")
            where = graph.made if subtracts else line_of(graph, growing)
            return self._finding(graph, where, "divergence of the VAE", state)
        error = self._maximised(graph, found, state)
        return self._finding(graph, call_of(graph, error), _NAMES[op_of(error)], state) if error else None

    def _is_only_loss(self, graph: LossGraph, state: RunState) -> bool:
        return graph.step >= self.first_step and len(state.sites) <= 1 and len(state.optimizers) <= 1

    def _maximised(self, graph: LossGraph, found: dict[int, int], state: RunState) -> AutogradNode | None:
        """The error that enters with a minus, where nothing else is minimised."""
        if not self._is_only_loss(graph, state):
            return None
        known = numbers_by_op(graph)
        errors = sorted(index for op in _NAMES for index in known.get(op, ()))
        # The parts themselves are what the sums and factors lead to.
        parts = [index for index in found if not any(below in found for below in graph.nodes[index].inputs)]
        minimised = any(found[index] > 0 for index in parts)
        if not errors or minimised or not all(index in found for index in errors):
            return None
        if self._surprise.get(graph.site, 1.0) < self.guessing:
            return None
        return graph.nodes[errors[0]]

    def _finding(self, graph: LossGraph, where: Place, what: str, state: RunState) -> Finding:
        return self.finding(
            severity="error",
            confidence=0.94 if what.startswith("div") else 0.9,
            message=f"The {what} enters the loss{at_line(where)} with a minus, so training makes it as large as it "
            f"can; the loss was {graph.loss:.4g} at step {graph.step}.",
            why="An optimizer lowers what backward() is called on. With a minus in front, the lowest value is "
            "minus infinity, and the way there is to be as wrong as possible.",
            fix=(
                "Turn the sign: the loss is reconstruction + divergence, with the divergence as "
                "`-0.5 * (1 + logvar - mu.pow(2) - logvar.exp())`."
                if what.startswith("div")
                else f"Take the minus in front of the {what} away."
            ),
            where=where,
            steps=(graph.step, max(graph.step, state.step)),
            evidence={"part": what, "loss": graph.loss},
        )


def _flipped_divergence(graph: LossGraph, found: dict[int, int]) -> AutogradNode | None:
    """exp(x) maximised and x minimised, or y maximised and log(y) minimised: no bound holds that."""
    known = numbers_by_op(graph)
    for number in sorted([*known.get("Exp", ()), *known.get("Log", ())]):
        node: AutogradNode = graph.nodes[number]
        inner = node.inputs[0] if node.inputs else None
        larger, smaller = (number, inner) if op_of(node) == "Exp" else (inner, number)
        if larger is not None and smaller is not None and found.get(larger) == -1 and found.get(smaller) == 1:
            return node
    return None


_FLAT = {"Round": "round", "Sign": "sign", "Floor": "floor", "Ceil": "ceil", "Trunc": "trunc"}


class RoundingBeforeLoss(LossGraphCheck):
    """All that the loss sees of the model has been rounded, and rounding has the gradient zero.

    Symptom:
        The loss never changes but for the batches; every gradient is exactly zero and no weight moves.
    Evidence:
        The autograd graph: every path from the loss to a parameter leads through round, sign, floor, ceil or
        trunc.
    Fix:
        Give the loss the output itself; round only for the accuracy or the answer. Where the model must learn
        through rounding, use `x + (x.round() - x).detach()`.
    Known limits:
        Not said where the graph is too large to follow every path.
    """

    id = "TD525"
    name = "rounding-before-loss"
    title = "outputs are rounded before the loss: no gradient flows"
    explains = ("vanishing-gradient", "lr-too-low", "graph-cut")

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        node = _wall(graph)
        if node is None:
            return None
        name = _FLAT[op_of(node)]
        where = line_of(graph, node)
        return self.finding(
            severity="error",
            confidence=0.97,
            message=f"Everything that the loss{at_line(where)} sees of the model goes through {name}(), whose gradient "
            "is zero everywhere: no weight can learn.",
            why=f"A small change of a weight does not change the result of {name}() at all, so autograd "
            "rightly says that every weight is as good as any other.",
            fix=f"Take {name}() away in front of the loss, and use it only to show answers or to count them; "
            f"to learn through it, write `x + (x.{name}() - x).detach()`.",
            where=where,
            steps=(graph.step, max(graph.step, state.step)),
            evidence={"op": op_of(node), "shape": str(tuple(node.shape)), "loss": graph.loss},
        )


def _wall(graph: LossGraph) -> AutogradNode | None:
    """The first flat op, where no parameter and nothing unread can be reached but through such ops."""
    if not numbers_by_op(graph).keys() & _FLAT.keys():
        return None
    flat: list[AutogradNode] = []
    waiting, seen = [0] if graph.nodes else [], {0}
    while waiting:
        index = waiting.pop()
        if index >= len(graph.nodes) or graph.nodes[index].parameter is not None:
            return None
        if op_of(graph.nodes[index]) in _FLAT:
            flat.append(graph.nodes[index])
            continue
        below = [number for number in graph.nodes[index].inputs if number is not None and number not in seen]
        seen.update(below)
        waiting += below
    return flat[0] if flat else None


# With which sign each part enters a loss: followed down from the loss, as far as sums and factors go.
_PASSING = SHAPE_ONLY | {"Mean", "Sum", "Expand", "Nansum", "Stack", "Cat"}


def signs(graph: LossGraph) -> dict[int, int]:
    """1 for what is minimised, -1 for what is maximised, by the number of the node; what enters with both
    signs, or by a product of two unknowns, has none."""
    found: dict[int, int] = {}
    unclear: set[int] = set()
    waiting = [(0, 1)] if graph.nodes else []
    while waiting:
        index, sign = waiting.pop()
        if index in unclear or found.get(index) == sign:
            continue
        if found.setdefault(index, sign) != sign:
            unclear.add(index)
        node = graph.nodes[index]
        pairs = zip(node.inputs, _factors(node), strict=False)
        count = len(graph.nodes)
        waiting += [(below, sign * factor) for below, factor in pairs if below is not None and below < count]
    return {index: sign for index, sign in found.items() if index not in unclear}


def _factors(node: AutogradNode) -> list[int]:
    """The sign that each operand gets; nothing where the op is no sum and no product with a number."""
    op, alpha = op_of(node), 1 if float(node.saved.get("alpha", 1)) > 0 else -1
    if op in _PASSING:
        return [1] * len(node.inputs)
    if op in ("Neg", "Rsub"):  # other - input
        return [-1, 1]
    if op == "Add":
        return [1, alpha]
    if op == "Sub":
        return [1, -alpha]
    factor = float(node.saved.get("factor", 0.0))
    if op in ("Mul", "Div") and factor:
        return [1 if factor > 0 else -1] * len(node.inputs)
    return []
