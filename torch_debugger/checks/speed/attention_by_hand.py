"""TD719: attention computed op by op, which keeps its weights for every pair of places."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import severity_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import AttentionByHand as Seen
from torch_debugger.records import CostFact, Finding, MemoryLook, Record
from torch_debugger.records.memory import BEFORE_BACKWARD, WATCHER
from torch_debugger.records.units import bytes_text


class AttentionByHand(Check):
    """Attention is written out as softmax(q @ k^T) @ v, and its square of weights stays in memory for backward.

    Symptom:
        Memory grows with the square of the sequence's length, and the training runs out of it first in the
        attention.
    Evidence:
        In the graph of the loss: a product, a softmax over its last dim and a product with the weights, over
        sequences of at least 128 places; and in the source, that the weights are used for nothing else. The
        bytes that were kept of these squares, beside all that was in use right before the backward.
    Fix:
        `F.scaled_dot_product_attention`: it computes the same block by block and keeps one number for each
        place.
    Known limits:
        What it saves of time is not counted. Where several lines take a softmax over the last dim, none is
        named and nothing is said; nor where the scores get a bias that is learned, or einsum does the products.
        On the CPU torch has no such kernel with dropout: nothing is said there.
    """

    id = "TD719"
    name = "attention-by-hand"
    title = "attention keeps its weights for every pair of places"
    reads = (Seen, MemoryLook, CostFact)
    explains = ("out-of-memory",)

    # Less than this is missed by no machine that trains.
    least_bytes = 16 * 2**20

    def __init__(self) -> None:
        self._seen: dict[tuple[int, ...], Seen] = {}
        self._in_use = 0  # bytes, at the fullest moment

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, Seen):
            self._seen[record.shape] = record
        elif isinstance(record, MemoryLook) and record.moment == BEFORE_BACKWARD and record.whole:
            self._in_use = max(self._in_use, record.used_bytes - record.parts.get(WATCHER, 0))
        elif isinstance(record, CostFact):
            yield from self._judge(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return self._judge(state)

    def _judge(self, state: RunState) -> Iterable[Finding]:
        fused = [each for each in self._seen.values() if self._has_kernel(each, state)]
        most = max(fused, key=lambda each: each.kept_bytes, default=None)
        if most is None or most.kept_bytes < self.least_bytes or not self._in_use:
            return
        gain = most.kept_bytes / max(self._in_use, most.kept_bytes)
        severity = severity_of(gain)
        if severity is not None:
            yield self._told(most, gain, severity, state)

    def _has_kernel(self, seen: Seen, state: RunState) -> bool:
        return state.speed is not None and (state.speed.device != "cpu" or not seen.has_dropout)

    def _told(self, seen: Seen, gain: float, severity: str, state: RunState) -> Finding:
        rows, columns = seen.shape[-2:]
        times = f"{seen.count} such squares are" if seen.count > 1 else "it is"
        return self.finding(
            severity=severity,
            confidence=0.85,
            message=(
                f"Attention is computed by hand, with weights for {rows} x {columns} pairs of places in a "
                f"tensor of {list(seen.shape)}: {times} kept for the backward, "
                f"{bytes_text(seen.kept_bytes)} or {100 * gain:.0f} % of all memory in use by then."
            ),
            why=(
                "The scores, their softmax and what dropout leaves of it are tensors of their own, each as "
                "large as the square of the sequence's length, and autograd keeps what backward needs of them."
            ),
            fix=(
                f"{_instead(seen)} It computes the same block by block and keeps none of them. Expected to "
                f"save {bytes_text(seen.kept_bytes)}, {100 * gain:.0f} % of the memory in use before "
                "the backward."
            ),
            where=seen.place,
            first_step=seen.step,
            last_step=state.step,
            evidence={
                "expected_gain": gain,
                "kept_bytes": float(seen.kept_bytes),
                "bytes_in_use": float(self._in_use),
                "length": float(columns),
                "attentions": float(seen.count),
            },
        )


def _instead(seen: Seen) -> str:
    given = ", ".join(seen.names) if all(seen.names) else "queries, keys, values"
    dropout = ", dropout_p=... while training" if seen.has_dropout else ""
    return (
        f"Write `F.scaled_dot_product_attention({given})` in place of the two products and the softmax (with "
        f"`attn_mask=` or `is_causal=True` for a mask{dropout}; it divides by the root of the last dim itself, "
        "`scale=` sets another factor)."
    )
