"""TD522: a language model whose targets are not the next tokens."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.graph import at, call_of
from torch_debugger.checks.graph_ops import nodes_with
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, GraphNode, LossGraph, Record, TokenTargets

_LIKELIHOODS = ("NllLoss", "NllLoss2D")


class TargetShifted(Check):
    """The targets of a sequence model are the tokens it was just given, or those after the next.

    Symptom:
        The loss falls to nearly zero within a few steps and the model then writes nonsense (targets not
        shifted), or it never gets good (shifted twice).
    Evidence:
        The tokens that the embedding read and the targets of the loss, place by place, in several batches: all
        targets are the input at the same place, at the one before, or two places on.
    Fix:
        `inputs, targets = tokens[:, :-1], tokens[:, 1:]`, once: in the data or in the model, not in both.
    Known limits:
        Said only where every place of the input reaches the loss on a way of its own: an autoencoder, which has
        its input as its target, squeezes it through one code. A GRU on the CPU goes place by place and is not
        judged, nor is a loss with several terms.
    """

    id = "TD522"
    name = "target-shifted"
    title = "the targets are not the next tokens"
    reads = (LossGraph, TokenTargets)

    # Batches in which all targets fit.
    looks = 2

    def __init__(self) -> None:
        self._graphs: dict[str, LossGraph] = {}
        self._looks: dict[str, list[TokenTargets]] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LossGraph):
            self._graphs.setdefault(record.site, record)
        elif isinstance(record, TokenTargets):
            self._looks.setdefault(record.site, []).append(record)
        else:
            return ()
        return self._judge_site(record.site, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return [finding for site in self._looks for finding in self._judge_site(site, state)]

    def _judge_site(self, site: str, state: RunState) -> Iterable[Finding]:
        graph, looks = self._graphs.get(site), self._looks.get(site, [])
        if graph is None or len(looks) < self.looks:
            return
        offsets, losses = {look.offset for look in looks}, nodes_with(graph, _LIKELIHOODS)
        if len(losses) != 1 or len(offsets) != 1:
            return
        offset = offsets.pop()
        if offset in (-1, 0, 2):
            yield self._judge(graph, losses[0], looks[0], offset, state)

    def _judge(
        self, graph: LossGraph, loss: GraphNode, rows: TokenTargets, offset: int, state: RunState
    ) -> Finding:
        where = call_of(graph, loss)
        return self.finding(
            severity="error",
            confidence=0.93,
            message=(
                f"Every target of the loss{at(where)} is {_relation(offset)} that `{rows.embedding}` read, in "
                f"batches of {rows.rows} x {rows.length} tokens: {_meaning(offset)}."
            ),
            why=_why(offset),
            fix=_fix(offset),
            where=where,
            first_step=rows.step,
            last_step=max(rows.step, state.step),
            evidence={"offset": float(offset), "rows": float(rows.rows), "length": float(rows.length)},
        )


def _relation(offset: int) -> str:
    if offset == 0:
        return "the very token"
    return "the token before the one" if offset < 0 else "two places on from the token"


def _meaning(offset: int) -> str:
    if offset == 2:
        return "the targets are shifted twice"
    return "the model has only to copy" if offset == 0 else "inputs and targets are shifted the wrong way"


def _why(offset: int) -> str:
    if offset == 2:
        return (
            "The data and the model each shift by one. The model learns the token after the next, and text "
            "that is made with it one token at a time does not hold together."
        )
    return (
        "The answer stands in the input. Copying it brings the loss to zero, and nothing is learned about "
        "which token comes next."
    )


def _fix(offset: int) -> str:
    if offset == 2:
        return "Shift once: take `[:, 1:]` away either in the data or in the loss."
    return (
        "Shift them once: in the data, `inputs, targets = tokens[:, :-1], tokens[:, 1:]`; or in the loss, "
        "`scores[:, :-1]` with `targets[:, 1:]`."
    )
