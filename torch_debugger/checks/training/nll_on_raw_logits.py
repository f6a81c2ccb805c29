"""TD512: negative log-likelihood of something that is no log-probability."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.graph import at, line_of, operands, origin
from torch_debugger.checks.graph_ops import nodes_with, numbers_by_op, op_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import ClassTargets, Finding, GraphNode, LossGraph, Record

_WHAT = {
    "Addmm": "raw scores", "Mm": "raw scores", "Bmm": "raw scores", "Convolution": "raw scores",
    "Add": "raw scores", "Relu": "raw scores", "Softmax": "probabilities", "Sigmoid": "probabilities",
}  # fmt: skip


class NllOnRawLogits(Check):
    """`nll_loss` is given raw scores or probabilities, where it expects log-probabilities.

    Symptom:
        The loss is negative and falls without end (raw scores), or creeps from near zero to -1
        (probabilities).
    Evidence:
        The autograd graph: the negative log-likelihood takes the output of a linear layer, a convolution or a
        softmax. And its values: log-probabilities of a sample add up to 1, so log(sum(exp)) is 0.
    Fix:
        Use `cross_entropy`, which takes raw scores, or put `log_softmax(scores, dim=1)` in front of it.
    Known limits:
        Scores from other ops are not judged, nor a loss that adds its own logsumexp.
    """

    id = "TD512"
    name = "nll-on-raw-logits"
    title = "nll_loss gets scores or probabilities, not log-probabilities"
    reads = (LossGraph, ClassTargets)
    explains = ("loss-not-finite", "lr-too-high", "overflow-ahead", "softmax-before-cross-entropy")

    # Of log(sum(exp)) over a sample's classes, the lowest over all samples: 0 for log-probabilities, and not
    # above 0.05 for those of half precision or with an epsilon in them; ln 2 for two scores near zero.
    clearly_above_zero = 0.3

    def __init__(self) -> None:
        self._graphs: dict[str, LossGraph] = {}
        self._targets: dict[str, ClassTargets] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LossGraph):
            self._graphs.setdefault(record.site, record)
        elif isinstance(record, ClassTargets) and record.lowest_sum > self.clearly_above_zero:
            self._targets.setdefault(record.site, record)
        return self._judge_all(state) if isinstance(record, LossGraph) else ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        return self._judge_all(state)

    def _judge_all(self, state: RunState) -> Iterable[Finding]:
        for site, graph in self._graphs.items():
            found = _unnormalised(graph)
            if site in self._targets and found is not None:
                yield self._judge(graph, self._targets[site], *found, state)

    def _judge(
        self, graph: LossGraph, targets: ClassTargets, loss: GraphNode, source: GraphNode, state: RunState
    ) -> Finding:
        what = _WHAT[op_of(source)]
        given = f"between {targets.lowest_sum:.2f} and {targets.highest_sum:.2f}"
        where = line_of(graph, loss)
        ending = (
            "the loss falls as long as the right score grows, and nothing pushes the others down"
            if what == "raw scores"
            else "the gradient of a wrong answer is as good as zero, and no loss is lower than -1"
        )
        return self.finding(
            severity="error",
            confidence=0.96,
            message=(
                f"The negative log-likelihood{at(where)} is given {what} where it expects log-probabilities: "
                f"log(sum(exp)) of a sample is {given}, not 0."
            ),
            why=f"nll_loss only picks the value of the right class and turns its sign: {ending}.",
            fix=_fix(what),
            where=where,
            first_step=targets.step,
            last_step=max(targets.step, state.step),
            evidence={
                "chain": f"{op_of(loss)} <- {op_of(source)}",
                "lowest_log_sum_exp": targets.lowest_sum,
                "highest_log_sum_exp": targets.highest_sum,
                "loss": graph.loss,
            },
        )


def _unnormalised(graph: LossGraph) -> tuple[GraphNode, GraphNode] | None:
    """A negative log-likelihood and what made the scores in it, where nothing takes their logarithm."""
    if "Logsumexp" in numbers_by_op(graph):
        return None
    for node in nodes_with(graph, ("NllLoss", "NllLoss2D")):
        scores = next(operands(graph, node), None)
        source = origin(graph, scores) if scores is not None else None
        if source is not None and op_of(source) in _WHAT:
            return node, source
    return None


def _fix(what: str) -> str:
    if what == "probabilities":
        return (
            "Give the loss log-probabilities: `log_softmax` in place of the softmax; or remove the softmax and "
            "use `cross_entropy` (`nn.CrossEntropyLoss`), which takes raw scores."
        )
    return (
        "Use `cross_entropy` (`nn.CrossEntropyLoss`) in place of nll_loss; or give it "
        "`log_softmax(scores, dim=1)`."
    )
