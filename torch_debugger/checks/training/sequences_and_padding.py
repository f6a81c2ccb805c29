"""Sequences: padding in the loss, targets that are not the next tokens, states after the padding."""

from __future__ import annotations

import abc
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line, nodes_with, op_of
from torch_debugger.checks.call_edits import replace_in_line
from torch_debugger.checks.loss_graph import call_of, line_of
from torch_debugger.records import ClassTargets, Finding, LossGraph, PaddedState, Record, TokenTargets

_CONSTRUCTORS = ("CrossEntropyLoss()", "NLLLoss()")


_LIKELIHOODS = ("NllLoss", "NllLoss2D")


class _TargetsCheck(Check):
    """Judges the tokens that a loss was given as targets, site by site, and again at the end."""

    def __init__(self) -> None:
        self._graphs: dict[str, LossGraph] = {}
        self._looks: dict[str, list[TokenTargets]] = {}

    @abc.abstractmethod
    def judge(self, site: str, state: RunState) -> Iterable[Finding]: ...

    def finish(self, state: RunState) -> Iterable[Finding]:
        return [finding for site in self._looks for finding in self.judge(site, state)]


class PaddingCountedInLoss(_TargetsCheck):
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
        super().__init__()
        self._reductions: dict[str, str] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LossGraph):
            self._graphs.setdefault(record.site, record)
        elif isinstance(record, ClassTargets):
            self._reductions[record.site] = record.reduction
        elif isinstance(record, TokenTargets) and self._is_padded(record):
            looks = self._looks.setdefault(record.site, [])
            if not looks or looks[0].last == record.last:
                looks.append(record)
                return self.judge(record.site, state)
        return ()

    def _is_padded(self, rows: TokenTargets) -> bool:
        share = self.share_known if rows.padding == rows.last else self.share_guessed
        tails = rows.ended >= self.rows_ended and rows.in_tails >= share and rows.elsewhere <= self.elsewhere
        ragged = rows.longest - rows.shortest >= self.ragged and rows.shortest < rows.length
        return tails and ragged and rows.last != rows.ignore_index and rows.weight > 0

    def judge(self, site: str, state: RunState) -> Iterable[Finding]:
        looks, graph = self._looks[site], self._graphs.get(site)
        if len(looks) >= self.looks and self._reductions.get(site) in ("mean", "sum"):
            rows = looks[0]
            known = rows.padding == rows.last
            node = next((node for node in graph.nodes if op_of(node) in _LIKELIHOODS), None) if graph else None
            where = (line_of(graph, node) if graph and node else None) or rows.made
            made = next((text for text in _CONSTRUCTORS if (where.code or "").count(text) == 1), None)
            named = f", padding_idx={rows.padding} of the embedding" if known else ""
            yield self.finding(
                severity="error" if known else "warning",
                confidence=0.95 if known else 0.85,
                message=f"{rows.in_tails:.0%} of the targets of the loss{at_line(where)} are the token {rows.last} "
                f"behind the ends of the sequences{named}: padding is counted like words.",
                why="Padding is the easiest thing to predict. It lowers the mean loss, takes its share of every "
                "gradient, and hides how well the words themselves are predicted.",
                fix=f"Add `ignore_index={rows.last}` to the loss{at_line(where)}.",
                where=where,
                steps=(rows.step, max(rows.step, state.step)),
                evidence={
                    "padding_token": float(rows.last),
                    "padding_share": rows.in_tails,
                    "rows_ended": rows.ended,
                    "shortest": float(rows.shortest),
                    "longest": float(rows.longest),
                },
                edit=replace_in_line(where, made, f"{made[:-1]}ignore_index={rows.last})") if made else None,
            )


_COPIED = (
    "The answer stands in the input. Copying it brings the loss to zero, and nothing is learned about "
    "which token comes next.",
    "Shift them once: in the data, `inputs, targets = tokens[:, :-1], tokens[:, 1:]`; or in the loss, "
    "`scores[:, :-1]` with `targets[:, 1:]`.",
)
# What the targets are, by places from the input; what that means, why it is wrong, and what to do.
_OFFSETS = {
    -1: ("the token before the one", "inputs and targets are shifted the wrong way", *_COPIED),
    0: ("the very token", "the model has only to copy", *_COPIED),
    2: (
        "two places on from the token",
        "the targets are shifted twice",
        "The data and the model each shift by one. The model learns the token after the next, and text "
        "that is made with it one token at a time does not hold together.",
        "Shift once: take `[:, 1:]` away either in the data or in the loss.",
    ),
}


class TargetShifted(_TargetsCheck):
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

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LossGraph):
            self._graphs.setdefault(record.site, record)
        elif isinstance(record, TokenTargets):
            self._looks.setdefault(record.site, []).append(record)
        else:
            return ()
        return self.judge(record.site, state)

    def judge(self, site: str, state: RunState) -> Iterable[Finding]:
        graph, looks = self._graphs.get(site), self._looks.get(site, [])
        if graph is None or len(looks) < self.looks:
            return
        offsets, losses = {look.offset for look in looks}, nodes_with(graph, _LIKELIHOODS)
        if len(losses) != 1 or len(offsets) != 1:
            return
        offset = offsets.pop()
        if offset in _OFFSETS:
            relation, meaning, why, fix = _OFFSETS[offset]
            rows = looks[0]
            where = call_of(graph, losses[0])
            yield self.finding(
                severity="error",
                confidence=0.93,
                message=f"Every target of the loss{at_line(where)} is {relation} that `{rows.embedding}` "
                f"read, in batches of {rows.rows} x {rows.length} tokens: {meaning}.",
                why=why,
                fix=fix,
                where=where,
                steps=(rows.step, max(rows.step, state.step)),
                evidence={"offset": float(offset), "rows": float(rows.rows), "length": float(rows.length)},
            )


class LastStateOfPaddedSequence(Check):
    """Only a recurrent layer's last state is used, and for most sequences that is a state after padding.

    Symptom:
        The loss falls slowly or stands still; what the model says about a sequence depends on how long the
        others in its batch are.
    Evidence:
        What the layer read: most rows end in a run of one token or vector, of a length that differs from row
        to row, and it stands nowhere else. And the autograd graph: the loss goes through the last step of the
        layer's output, or through its final state, and nothing else of it. It was not given packed sequences.
    Fix:
        Take the state at each row's own length, or pack the sequences.
    Known limits:
        A final state that is given to another recurrent layer is not judged. Vectors that are no embedded
        tokens count as padded only where some row of each batch has no padding, as `pad_sequence` leaves them.
    """

    id = "TD527"
    name = "last-state-of-padded-sequence"
    title = "a recurrent layer's last state is taken after the padding"
    reads = (PaddedState,)
    explains = ("lr-too-low", "vanishing-gradient")

    # Of the rows, those that end in padding, and of all steps, those that are padding.
    rows_ended = 0.5
    share = 0.25
    # Of the padding's places, those that are in no such end: images and sounds have blank vectors inside.
    elsewhere_tokens = 0.1
    elsewhere_vectors = 0.02
    ragged = 2
    looks_needed = 2
    most_looks = 0.6  # of all: a batch of a small data set may have one length by chance

    def __init__(self) -> None:
        self._looks: dict[str, list[PaddedState]] = {}  # at padded sequences, layer by layer
        self._all: dict[str, int] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if not isinstance(record, PaddedState):
            return ()
        self._all[record.layer] = self._all.get(record.layer, 0) + 1
        if not self._is_padded(record):
            return ()
        self._looks.setdefault(record.layer, []).append(record)
        return self._judge(record.layer, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return [finding for layer in self._looks for finding in self._judge(layer, state)]

    def _is_padded(self, look: PaddedState) -> bool:
        tails = look.filled and look.ended >= self.rows_ended and look.in_tails >= self.share
        most = self.elsewhere_tokens if look.tokens else self.elsewhere_vectors
        begins = look.shortest < look.length if look.tokens else look.shortest == 0
        return tails and begins and look.elsewhere <= most and look.longest - look.shortest >= self.ragged

    def _judge(self, layer: str, state: RunState) -> Iterable[Finding]:
        looks = self._looks[layer]
        if len(looks) < max(self.looks_needed, self.most_looks * self._all[layer]):
            return
        first, last = looks[0], looks[-1]
        ended = sum(look.ended for look in looks) / len(looks)
        padding = sum(look.in_tails for look in looks) / len(looks)
        what = "the last step of its output" if first.used == "last step" else "its final state"
        yield self.finding(
            severity="warning",
            confidence=0.9,
            message=f"Of `{first.layer}` ({first.kind}) only {what} is used, and {ended:.0%} of its sequences end "
            f"in padding: {padding:.0%} of all steps it reads come after the end.",
            why="The state goes on changing while the layer reads padding, so what it has read of a short "
            "sequence fades before it is used, and depends on the longest sequence of the batch.",
            fix=_pack_or_gather(first),
            where=first.taken,
            steps=(first.step, max(last.step, state.step)),
            evidence={
                "rows_ended": ended,
                "padding_share": padding,
                "length": float(first.length),
                "looks": float(len(looks)),
            },
        )


def _pack_or_gather(look: PaddedState) -> str:
    lengths = look.lengths or "lengths"
    order = ", batch_first=True" if look.batch_first else ""
    packed = f"pack_padded_sequence(x, {lengths}.cpu(){order}, enforce_sorted=False)"
    hint = "" if look.lengths else " (the lengths without padding)"
    if look.used == "final state":
        return f"Give `{look.layer}` packed sequences: `{packed}`{hint}; then its final state is that of each row."
    rows = f"torch.arange(len({lengths}))"
    index = f"[{rows}, {lengths} - 1]" if look.batch_first else f"[{lengths} - 1, {rows}]"
    return (
        f"Take each row's own last step: `{index}`{hint} in place of the index -1; or give `{look.layer}` "
        f"`{packed}` and use its final state."
    )
