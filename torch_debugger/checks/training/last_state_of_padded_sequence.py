"""TD527: the state after the padding, taken for the state after the sequence."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, PaddedState, Record


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
        return self._tell(record.layer, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return [finding for layer in self._looks for finding in self._tell(layer, state)]

    def _is_padded(self, look: PaddedState) -> bool:
        tails = look.filled and look.ended >= self.rows_ended and look.in_tails >= self.share
        most = self.elsewhere_tokens if look.tokens else self.elsewhere_vectors
        begins = look.shortest < look.length if look.tokens else look.shortest == 0
        return tails and begins and look.elsewhere <= most and look.longest - look.shortest >= self.ragged

    def _tell(self, layer: str, state: RunState) -> list[Finding]:
        looks = self._looks[layer]
        if len(looks) < max(self.looks_needed, self.most_looks * self._all[layer]):
            return []
        return [self._judge(looks, state)]

    def _judge(self, looks: list[PaddedState], state: RunState) -> Finding:
        first, last = looks[0], looks[-1]
        ended = sum(look.ended for look in looks) / len(looks)
        padding = sum(look.in_tails for look in looks) / len(looks)
        what = "the last step of its output" if first.used == "last step" else "its final state"
        return self.finding(
            severity="warning",
            confidence=0.9,
            message=(
                f"Of `{first.layer}` ({first.kind}) only {what} is used, and {ended:.0%} of its sequences end "
                f"in padding: {padding:.0%} of all steps it reads come after the end."
            ),
            why=(
                "The state goes on changing while the layer reads padding, so what it has read of a short "
                "sequence fades before it is used, and depends on the longest sequence of the batch."
            ),
            fix=_fix(first),
            where=first.taken,
            first_step=first.step,
            last_step=max(last.step, state.step),
            evidence={
                "rows_ended": ended,
                "padding_share": padding,
                "length": float(first.length),
                "looks": float(len(looks)),
            },
        )


def _fix(look: PaddedState) -> str:
    lengths = look.lengths or "lengths"
    order = ", batch_first=True" if look.batch_first else ""
    packed = f"pack_padded_sequence(x, {lengths}.cpu(){order}, enforce_sorted=False)"
    hint = "" if look.lengths else " (the lengths without padding)"
    if look.used == "final state":
        return (
            f"Give `{look.layer}` packed sequences: `{packed}`{hint}; then its final state is that of each row."
        )
    rows = f"torch.arange(len({lengths}))"
    index = f"[{rows}, {lengths} - 1]" if look.batch_first else f"[{lengths} - 1, {rows}]"
    return (
        f"Take each row's own last step: `{index}`{hint} in place of the index -1; or give `{look.layer}` "
        f"`{packed}` and use its final state."
    )
