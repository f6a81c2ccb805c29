"""TD521: the filling at the ends of sequences counted as targets."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.graph import at, line_of
from torch_debugger.checks.graph_ops import op_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import ClassTargets, Edit, Finding, LossGraph, Place, Record, TokenTargets

_CONSTRUCTORS = ("CrossEntropyLoss()", "NLLLoss()")


class PaddingCountedInLoss(Check):
    """The loss of a sequence model counts the padding behind the sequences like words.

    Symptom:
        The loss falls fast and looks good, because padding is easy to predict, and the model likes to answer
        padding.
    Evidence:
        The targets as the loss saved them, as rows: most rows end in a run of one token, of a length that
        differs from row to row, and that token stands nowhere else. It is not the loss's `ignore_index`.
    Fix:
        `ignore_index=<padding token>` in the loss.
    Known limits:
        Losses with `reduction="none"` are taken to be masked by hand. Where the embedding has no `padding_idx`,
        it is said only if a quarter of all targets or more is padding.
    """

    id = "TD521"
    name = "padding-counted-in-loss"
    title = "padding counts as targets in the loss"
    reads = (LossGraph, ClassTargets, TokenTargets)

    # Of the rows, those that end in two or more of the token.
    rows_ended = 0.3
    # Of all targets, those in such ends: with a padding_idx that says so, and without.
    share_known = 0.1
    share_guessed = 0.25
    # Of the token's places, those that are in no such end: an end of sentence, a misreading.
    elsewhere = 0.1
    # Lengths of the ends differ by this many tokens at least: sequences of one length need no padding.
    ragged = 2
    looks = 2

    def __init__(self) -> None:
        self._graphs: dict[str, LossGraph] = {}
        self._reductions: dict[str, str] = {}
        self._looks: dict[str, list[TokenTargets]] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LossGraph):
            self._graphs.setdefault(record.site, record)
        elif isinstance(record, ClassTargets):
            self._reductions[record.site] = record.reduction
        elif isinstance(record, TokenTargets) and self._is_padded(record):
            looks = self._looks.setdefault(record.site, [])
            if not looks or looks[0].last == record.last:
                looks.append(record)
                return self._judge_site(record.site, state)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        return [finding for site in self._looks for finding in self._judge_site(site, state)]

    def _is_padded(self, rows: TokenTargets) -> bool:
        share = self.share_known if rows.padding == rows.last else self.share_guessed
        tails = rows.ended >= self.rows_ended and rows.in_tails >= share and rows.elsewhere <= self.elsewhere
        ragged = rows.longest - rows.shortest >= self.ragged and rows.shortest < rows.length
        return tails and ragged and rows.last != rows.ignore_index and rows.weight > 0

    def _judge_site(self, site: str, state: RunState) -> Iterable[Finding]:
        looks = self._looks[site]
        if len(looks) >= self.looks and self._reductions.get(site) in ("mean", "sum"):
            yield self._judge(site, looks[0], state)

    def _judge(self, site: str, rows: TokenTargets, state: RunState) -> Finding:
        known = rows.padding == rows.last
        where = self._where(site) or rows.made
        named = f", padding_idx={rows.padding} of the embedding" if known else ""
        return self.finding(
            severity="error" if known else "warning",
            confidence=0.95 if known else 0.85,
            message=(
                f"{rows.in_tails:.0%} of the targets of the loss{at(where)} are the token {rows.last} behind "
                f"the ends of the sequences{named}: padding is counted like words."
            ),
            why=(
                "Padding is the easiest thing to predict. It lowers the mean loss, takes its share of every "
                "gradient, and hides how well the words themselves are predicted."
            ),
            fix=f"Add `ignore_index={rows.last}` to the loss{at(where)}.",
            where=where,
            first_step=rows.step,
            last_step=max(rows.step, state.step),
            evidence={
                "padding_token": float(rows.last),
                "padding_share": rows.in_tails,
                "rows_ended": rows.ended,
                "shortest": float(rows.shortest),
                "longest": float(rows.longest),
            },
            edit=_edit(where, rows.last),
        )

    def _where(self, site: str) -> Place | None:
        graph = self._graphs.get(site)
        nodes = [node for node in graph.nodes if op_of(node) in ("NllLoss", "NllLoss2D")] if graph else []
        return line_of(graph, nodes[0]) if graph and nodes else None


def _edit(where: Place, token: int) -> Edit | None:
    for text in _CONSTRUCTORS:
        if where.file and where.line and where.code and where.code.count(text) == 1:
            after = where.code.replace(text, f"{text[:-1]}ignore_index={token})")
            return Edit(where.file, where.line, where.code, after)
    return None
