"""TD114: a line takes a result out of the autograd graph, and what made it is never trained."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import line_of
from torch_debugger.checks.state import RunState
from torch_debugger.checks.unreached_parts import UnreachedParts, by_line, size
from torch_debugger.records import CheckpointLoad, Finding, LedgerFact, Place, Record, TensorRows, UnreachedPart

_INDEX = re.compile(r"\barg(max|min|sort)\(")


class GraphCut(Check):
    """A part of the model runs, but a line between it and the loss keeps gradients from reaching it.

    Symptom:
        The loss falls more slowly than it should and stops early: only the layers after the cut learn, on
        top of random features.
    Evidence:
        The parameter ledger: an optimizer holds the part, it ran, and in no look of the run did it get a
        gradient. One traced step and the source name the line: `detach()`, `.data`, a way through numpy or
        `torch.tensor(...)`, `argmax`, or a `no_grad` block around it.
    Fix:
        Remove the cut: use the tensor itself, torch functions instead of numpy, and keep `no_grad` for
        evaluation. If the part is meant to stay as it is, do not give it to the optimizer.
    Known limits:
        Given at the end of the run, since a part may be trained in a later stage. A part that gets gradients by
        another way (straight-through estimators, an actor beside a detached critic) is not reported. With a
        loaded checkpoint it is a note: that is how features of a finished model are read.
    """

    id = "TD114"
    name = "graph-cut"
    title = "a line cuts a part of the model off its gradients"
    reads = (UnreachedPart, LedgerFact, TensorRows, CheckpointLoad)
    explains = ("lr-too-high", "posterior-collapse")  # what is not trained keeps the loss where it was

    # Structural, for any optimizer; where the run was killed, the last look must lie in its second half.
    looks_needed = 3
    looked_until = 0.5

    def __init__(self) -> None:
        self._unreached = UnreachedParts()
        self._loads = 0

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, CheckpointLoad):
            self._loads += 1
        else:
            self._unreached.see(record)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        seen = self._unreached
        late = state.end is None and seen.last_look >= self.looked_until * state.step
        known = seen.left() if seen.looks >= self.looks_needed else []
        cut = [part for part in known if part.reason == "cut" or (part.reason == "no grad" and part.training)]
        for part, others in by_line([part for part in cut if part.at_end or late]):
            yield self._judge(part, others, state)

    def _judge(self, part: UnreachedPart, others: int, state: RunState) -> Finding:
        switched = part.reason == "no grad"
        severity, confidence = ("warning", 0.75) if switched else ("error", 0.93)
        if self._loads:
            severity, confidence = "note", 0.4
        what = f"`{part.cut.code}`{line_of(part.cut)}"
        before = f" before `{part.following}`" if part.following else ""
        how = "runs it without gradients" if switched else f"cuts the graph{before}"
        return self.finding(
            severity=severity,
            confidence=confidence,
            message=f"{size(part, others)} gets no gradient: {what} {how}, so it has kept its first values.",
            why=(
                "backward() goes from the loss back through the graph. What was made under no_grad, detached, "
                "read by value or rounded to an index has no graph behind it, and the optimizer skips "
                "parameters without a gradient."
            ),
            fix=_fix(part, switched),
            where=Place(part.cut.file, part.cut.line, part.part, part.cut.code),
            first_step=1,
            last_step=max(part.step, state.step),
            evidence={
                "part": part.part,
                "elements": float(part.elements),
                "looks": float(self._unreached.looks),
                "reason": part.reason,
            },
        )


def _fix(part: UnreachedPart, switched: bool) -> str:
    at = line_of(part.cut)
    kept = f"If `{part.part}` should stay as it is, leave it out of the optimizer."
    if switched:
        return f"Take the call of `{part.part}` out of `{part.cut.code}`{at}. {kept}"
    if _INDEX.search(part.cut.code or ""):
        return (
            f"An index has no gradient. After `{part.cut.code}`{at}, go on with a straight-through estimator, "
            "`x + (chosen - x).detach()` where that index has chosen, or weigh all choices with a softmax "
            f"instead of taking one. {kept}"
        )
    return f"Let gradients through{at}: `{part.cut.code}` must keep the graph of `{part.part}`. {kept}"
