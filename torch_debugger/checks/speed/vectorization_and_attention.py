"""Python loops over rows, and attention written op by op."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.step_time import (
    LEAST_SAMPLES,
    expected,
    milliseconds,
    samples_of_each_step,
    severity_of,
    step_s,
)
from torch_debugger.records import AttentionByHand, CostFact, Finding, MemoryLook, Record, RowPasses, TakenRows
from torch_debugger.records.performance import BEFORE_BACKWARD, WATCHER
from torch_debugger.records.units import bytes_text


class RowsComputedOneByOne(Check):
    """A loop computes the rows of a tensor one after the other, with a few tiny ops for each.

    Symptom:
        Steps take milliseconds per sample although the model is small, and twice the batch takes twice as long.
    Evidence:
        The share of the training's time in the loop, as sampled; one step in which its passes were counted and
        what it indexes was seen to be tensors; and its source: no pass reads what another one has written, and
        all that is called is torch's. Rows are small and a pass is short, so most of it is calling ops.
    Fix:
        The same ops on the whole tensor: the loop's index goes, and what reduces a row gets its dim.
    Known limits:
        Loops with conditions, with functions of your own, with layers that keep something from call to call,
        or over rows of different lengths are not judged. Of the backward, which no line can be
        told of, the loop is taken to have the same share as of the forward, and no more than twice its time.
    """

    id = "TD715"
    name = "rows-computed-one-by-one"
    title = "a Python loop goes through the rows of a tensor"
    reads = (RowPasses, CostFact)

    least_passes = 16  # a handful of items is no loop over rows
    # Numbers in a row: above, an op takes longer than calling it.
    largest_row = 4096
    longest_pass_s = 0.001
    # What is over sooner, nobody waits for.
    least_loop_s = 0.001
    # Of the loop's time: ops on all rows at once take some, as much as a few passes or a fifth of all.
    most_saved = 0.8
    passes_left = 4
    most_backward = 2.0  # times the forward (measured: 1.1 to 2)

    def __init__(self) -> None:
        self._loops: dict[tuple[str | None, int | None], RowPasses] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, RowPasses):
            self._loops[record.place.file, record.place.line] = record
        return self.finish(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        stacks = state.sampled.get("training")
        loops = [
            loop
            for loop in self._loops.values()
            if loop.passes >= self.least_passes
            and 0 < max(map(_numbers_in_row, loop.taken), default=0) <= self.largest_row
        ]
        if not loops or stacks is None or stacks.samples < LEAST_SAMPLES or not state.split.is_enough():
            return
        counted = dict.fromkeys(loops, 0)
        for sample in samples_of_each_step(stacks, state):
            for loop in loops:
                first_line, last_line = loop.place.line or 0, loop.last
                lines = (place.line or 0 for place in sample.around if place.file == loop.place.file)
                counted[loop] += sample.samples if any(first_line <= line <= last_line for line in lines) else 0
        loop = max(loops, key=lambda each: counted[each])
        share = counted[loop] / stacks.samples
        saved = min(self.most_saved, 1 - self.passes_left / loop.passes)
        # The share of a step that the backward of the loop takes.
        before, of_backward = max(share, state.split.share("forward", "other")), 0.0
        if loop.is_differentiated and before:
            of_backward = min(self.most_backward * share, state.split.share("backward") * share / before)
        gain = saved * (share + of_backward)
        loop_s, severity = share * step_s(state), severity_of(gain)
        if severity and loop_s >= self.least_loop_s and loop_s <= self.longest_pass_s * loop.passes:
            first, whole_s = loop.taken[0], step_s(state)
            again = ", and as much again in the backward" if loop.is_differentiated else ""
            rows = "rows" if first.dim == 0 else f"entries along dim {first.dim}"
            yield self.finding(
                severity=severity,
                confidence=0.85,
                message=f"A Python loop over the {first.shape[first.dim]} {rows} of `{first.name}` takes "
                f"{milliseconds(loop_s)} of the {milliseconds(whole_s)} of each step: `{loop.place.code}` "
                f"makes {loop.passes} passes, each with {_numbers_in_row(first)} numbers of `{first.name}`.",
                why=f"Calling an op costs some microseconds, however few numbers it works on{again}. "
                "No pass needs the result of another one, so one call can do all of them.",
                fix=f"{_how(loop)} {expected(gain, whole_s)}",
                where=loop.place,
                steps=(1, state.step),
                evidence={
                    "expected_gain": gain,
                    "loop_s": loop_s,
                    "step_s": whole_s,
                    "passes": float(loop.passes),
                    "numbers_in_a_row": float(_numbers_in_row(first)),
                },
            )


def _numbers_in_row(taken: TakenRows) -> int:
    return math.prod(size for dim, size in enumerate(taken.shape) if dim != taken.dim)


def _how(loop: RowPasses) -> str:
    names = " and ".join(f"`{each.name}`" for each in loop.taken)
    if loop.sums_up:
        results = 'a loss with `reduction="sum"` gives the sum of all passes'
    else:
        results = "what was collected and stacked is then the result as it is"
    dims = "dims counted from the front move by one, and " if any(not each.dim for each in loop.taken) else ""
    return (
        f"Compute all passes at once: write the loop's body for the whole of {names}, without the loop; {dims}"
        f"`.sum()` or `.mean()` of a row gets its dim, a product of two rows becomes `(a * b).sum(-1)` or "
        f"`torch.einsum`, and {results}."
    )


class AttentionWrittenOut(Check):
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
    reads = (AttentionByHand, MemoryLook, CostFact)
    explains = ("out-of-memory",)

    # Less than this is missed by no machine that trains.
    least_bytes = 16 * 2**20

    def __init__(self) -> None:
        self._seen: dict[tuple[int, ...], AttentionByHand] = {}
        self._in_use = 0  # bytes, at the fullest moment

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, AttentionByHand):
            self._seen[record.shape] = record
        elif isinstance(record, MemoryLook) and record.moment == BEFORE_BACKWARD and record.whole:
            self._in_use = max(self._in_use, record.used_bytes - record.parts.get(WATCHER, 0))
        elif isinstance(record, CostFact):
            yield from self.finish(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        on_cpu = state.speed is None or state.speed.device == "cpu"
        # There is no kernel with dropout on the CPU.
        fused = [each for each in self._seen.values() if state.speed is not None and not (on_cpu and each.has_dropout)]
        most = max(fused, key=lambda each: each.kept_bytes, default=None)
        if most is None or most.kept_bytes < self.least_bytes or not self._in_use:
            return
        gain = most.kept_bytes / max(self._in_use, most.kept_bytes)
        severity = severity_of(gain)
        if severity is not None:
            rows, columns = most.shape[-2:]
            times = f"{most.count} such squares are" if most.count > 1 else "it is"
            yield self.finding(
                severity=severity,
                confidence=0.85,
                message=f"Attention is computed by hand, with weights for {rows} x {columns} pairs of places in a "
                f"tensor of {list(most.shape)}: {times} kept for the backward, "
                f"{bytes_text(most.kept_bytes)} or {100 * gain:.0f} % of all memory in use by then.",
                why="The scores, their softmax and what dropout leaves of it are tensors of their own, each as "
                "large as the square of the sequence's length, and autograd keeps what backward needs of them.",
                fix=f"{_instead(most)} It computes the same block by block and keeps none of them. Expected to save "
                f"{bytes_text(most.kept_bytes)}, {100 * gain:.0f} % of the memory in use before the backward.",
                where=most.place,
                steps=(most.step, state.step),
                evidence={
                    "expected_gain": gain,
                    "kept_bytes": float(most.kept_bytes),
                    "bytes_in_use": float(self._in_use),
                    "length": float(columns),
                    "attentions": float(most.count),
                },
            )


def _instead(seen: AttentionByHand) -> str:
    given = ", ".join(seen.names) if all(seen.names) else "queries, keys, values"
    dropout = ", dropout_p=... while training" if seen.has_dropout else ""
    return (
        f"Write `F.scaled_dot_product_attention({given})` in place of the two products and the softmax (with "
        f"`attn_mask=` or `is_causal=True` for a mask{dropout}; it divides by the root of the last dim itself, "
        "`scale=` sets another factor)."
    )
