"""The autograd graph: lines that cut it, layers outside of it, writes into it, graphs nobody uses."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.batches import Validations
from torch_debugger.checks.call_edits import replace_in_line
from torch_debugger.checks.optimization import call_at
from torch_debugger.records import (
    CheckpointLoad,
    DataWritten,
    Finding,
    LedgerFact,
    PassFact,
    Place,
    Record,
    TensorRows,
    UnreachedPart,
)

_INDEX = re.compile(r"\barg(max|min|sort)\(")


class GraphCutCheck(Check):
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

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, CheckpointLoad):
            self._loads += 1
        else:
            self._unreached.see(record)

    def finish(self, state: RunState) -> Iterable[Finding]:
        seen = self._unreached
        late = state.end is None and seen.last_look >= self.looked_until * state.step
        known = seen.left() if seen.looks >= self.looks_needed else []
        cut = [part for part in known if part.reason == "cut" or (part.reason == "no grad" and part.training)]
        for part, others in by_line([part for part in cut if part.at_end or late]):
            switched = part.reason == "no grad"
            severity, confidence = ("warning", 0.75) if switched else ("error", 0.93)
            if self._loads:
                severity, confidence = "note", 0.4
            what = f"`{part.cut.code}`{at_line(part.cut)}"
            before = f" before `{part.following}`" if part.following else ""
            how = "runs it without gradients" if switched else f"cuts the graph{before}"
            yield self.finding(
                severity=severity,
                confidence=confidence,
                message=f"{size(part, others)} gets no gradient: {what} {how}, so it has kept its first values.",
                why="backward() goes from the loss back through the graph. What was made under no_grad, detached, "
                "read by value or rounded to an index has no graph behind it, and the optimizer skips "
                "parameters without a gradient.",
                fix=_fix(part, switched),
                where=Place(part.cut.file, part.cut.line, part.part, part.cut.code),
                steps=(1, max(part.step, state.step)),
                evidence={
                    "part": part.part,
                    "elements": float(part.elements),
                    "looks": float(self._unreached.looks),
                    "reason": part.reason,
                },
            )


def _fix(part: UnreachedPart, switched: bool) -> str:
    at = at_line(part.cut)
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


class UnusedParameters(Check):
    """A layer is made and given to the optimizer, but the model never uses it, or drops its result.

    Symptom:
        The model trains, and is another one than was written down: a layer is missing, often because its
        neighbour is called twice.
    Evidence:
        In no look of the run did the layer get a gradient, and the source agrees: no line outside the
        constructor reads the attribute; or it is called and no line reads what it returned.
    Fix:
        Call the layer in `forward`, or use its result; remove it if it is not wanted.
    Known limits:
        Only classes of the user's own are read. A layer that any line mentions (a branch, a head for later,
        a loop over `children()`, `getattr` with a computed name) is not reported, whether it runs or not.
    """

    id = "TD115"
    name = "unused-parameters"
    title = "a layer is made and never used"
    reads = (UnreachedPart, LedgerFact, TensorRows)

    # Structural, for any optimizer.
    looks_needed = 3

    def __init__(self) -> None:
        self._unreached = UnreachedParts()

    def see(self, record: Record, state: RunState) -> None:
        self._unreached.see(record)

    def finish(self, state: RunState) -> Iterable[Finding]:
        seen = self._unreached
        known = seen.left() if seen.looks >= self.looks_needed else []
        for part, others in by_line([part for part in known if part.reason in ("never read", "dropped")]):
            name = part.part.rpartition(".")[2]
            twice = bool(part.instead)
            yield self.finding(
                severity="error" if twice else "warning",
                confidence=0.95 if twice else 0.9 if part.reason == "never read" else 0.85,
                message=f"{size(part, others)} {_what(part, name)}, so it is never trained and changes no output.",
                why=f"A layer takes part in the model only where `forward` uses its result. {_where_made(part)}The "
                f"optimizer holds it, and no gradient has reached it in {self._unreached.looks} looks.",
                fix=_use_or_remove(part, name),
                where=Place(part.cut.file, part.cut.line, part.part, part.cut.code),
                steps=(1, max(part.step, state.step)),
                evidence={
                    "part": part.part,
                    "elements": float(part.elements),
                    "reason": part.reason,
                    **({"called_twice": part.instead} if twice else {}),
                },
                edit=replace_in_line(part.cut, f"self.{part.instead}(", f"self.{name}(") if twice else None,
            )


def _what(part: UnreachedPart, name: str) -> str:
    if part.reason == "dropped":
        return f"runs, and nobody uses the result of `{part.cut.code}`{at_line(part.cut)}"
    if part.instead:
        return f"is never called, while `{part.instead}` is called again{at_line(part.cut)}"
    return f"is made{at_line(part.cut)} and no line of the model uses `{name}`"


def _where_made(part: UnreachedPart) -> str:
    return f"`{part.part}` is made{at_line(part.place)}. " if part.place.file else ""


def _use_or_remove(part: UnreachedPart, name: str) -> str:
    if part.reason == "dropped":
        return f"Use the result of `{part.cut.code}`{at_line(part.cut)} in what follows, or remove the layer."
    if part.instead:
        return f"Call `self.{name}` instead of `self.{part.instead}`{at_line(part.cut)}."
    return f"Use `self.{name}` in `forward`, or remove the line that makes it{at_line(part.cut)}."


class DataWriteBeforeBackward(Check):
    """Values are written through `.data` between forward and backward.

    Symptom:
        The training works worse than it should, or not at all, and nothing is reported: without `.data`,
        autograd would have refused.
    Evidence:
        The norm of a parameter differs between the end of the last forward that the loss was computed with and
        the beginning of backward(), its version counter does not, and this forward has kept its values; or a
        line writes the `.data` of a tensor whose values an op before that line has kept.
    Fix:
        Move the line behind `optimizer.step()`; write under `torch.no_grad()` instead of through `.data`, so
        that autograd notices when it matters.
    Known limits:
        Only the user's own files are read. Of results of the forward, only those are seen that a variable
        beside backward() holds. Nothing is told where saved-tensor hooks are in use, as in checkpointing.
    """

    id = "TD151"
    name = "data-write-before-backward"
    title = "values are written through .data between forward and backward"
    reads = (DataWritten,)
    explains = ("lr-too-high", "lr-too-low", "exploding-gradient", "vanishing-gradient")

    looks_needed = 2
    rounding = 0.01  # below it, the gradients are nearly those of the loss

    def __init__(self) -> None:
        self._looks: dict[Place, list[DataWritten]] = {}

    def see(self, record: DataWritten, state: RunState) -> Iterable[Finding]:
        looks = self._looks.setdefault(record.place, [])
        looks.append(record)
        if len({look.step for look in looks}) >= self.looks_needed:
            yield self._judge(max(looks, key=lambda look: (look.step == record.step, look.change)), looks)

    def _judge(self, fact: DataWritten, looks: list[DataWritten]) -> Finding:
        largest = max(look.change for look in looks)
        others = len({look.name for look in looks}) - 1
        names = f"`{fact.name}`" + (f" and {others} more" if others else "")
        percent = f"{100 * largest:.2g}" if largest < 1 else f"{100 * largest:,.0f}"
        changed = f", which changes the norm by up to {percent} %" if largest else ""
        small = fact.parameter and largest < self.rounding
        line = call_at(fact.place, f"{fact.name}.data = ...")
        return self.finding(
            severity="warning" if small else "error",
            confidence=0.9 if fact.parameter else 0.85,
            message=f"{line} writes {names} between the forward and the backward(){at_line(fact.backward)}"
            f"{changed}: the gradients belong to other values than the loss.",
            why="Backward computes with the values that the forward used, and reads them from the tensors themselves. "
            "A write through `.data` changes them unseen: it is counted by no version, so autograd cannot refuse.",
            fix=f"Move `{fact.place.code or fact.name}` behind the optimizer's step(), and write under `with "
            "torch.no_grad():` instead of through `.data`.",
            where=fact.place,
            steps=(looks[0].step, fact.step),
            evidence={
                "tensor": fact.name,
                "values": float(fact.elements),
                "change_of_norm": largest,
                "looks": float(len({look.step for look in looks})),
            },
        )


class GradEnabledInValidation(Check):
    """Validation runs with autograd on: every batch builds a graph that nobody uses.

    Symptom:
        Validation needs about as much memory as training and runs out of it with a larger batch; it is slower
        than it need be. The scores are right.
    Evidence:
        Complete passes over a loader that is never trained on, in which the model was called with autograd on
        for every batch and no backward() came.
    Fix:
        Put the loop into `with torch.no_grad():`, or `@torch.no_grad()` on the function.
    Known limits:
        Only passes over a DataLoader are judged. Where the script or the model asks for gradients itself
        (`torch.autograd.grad`, inputs that require a gradient), nothing is said.
    """

    id = "TD136"
    name = "grad-enabled-in-validation"
    title = "validation runs with autograd on"
    reads = (PassFact,)

    passes_needed = 2
    # A validation this small beside the training costs too little to warn about.
    warned_share = 0.05

    def __init__(self) -> None:
        self._validations = Validations()
        self._passes = 0
        self._first = 0
        self._training = 0
        self._wasted = 0
        self._reported = False

    def see(self, record: PassFact, state: RunState) -> Iterable[Finding]:
        if not self._validations.see(record):
            self._training += record.batches
            return
        all_of_them = max(1, record.batches)
        wasteful = [each for each in record.calls if each.trained and each.eval_grad + each.train_grad >= all_of_them]
        if not wasteful or record.asks_gradients:
            return
        self._first = self._first or record.step
        self._passes += 1
        self._wasted += record.batches
        if self._passes >= self.passes_needed and not self._reported:
            self._reported = True
            share = self._wasted / max(1, self._training + self._wasted)
            yield self.finding(
                severity="warning" if share >= self.warned_share else "note",
                confidence=0.93,
                message=f"Validation runs with autograd on: all {record.batches} batches of the "
                f"loop{at_line(record.place)} built a graph of `{wasteful[0].root}` that no backward() used, "
                f"since step {self._first}.",
                why="With autograd on every layer keeps what a backward pass would need. That takes the memory of "
                "a training step and some of its time.",
                fix=f"Put the loop{at_line(record.place)} inside `with torch.no_grad():`.",
                where=record.place,
                steps=(self._first, record.step),
                evidence={"batches": float(record.batches), "share_of_batches": share},
            )


# Parts of models that no gradient has reached in any look of a run.
class UnreachedParts:
    """A part that gets a gradient even once, in a branch or in a later stage, is no longer one."""

    def __init__(self) -> None:
        self.parts: dict[str, UnreachedPart] = {}
        self.looks = 0  # at which the parts were unreached
        self.last_look = 0
        self._reached: set[str] = set()

    def see(self, record: Record) -> None:
        if isinstance(record, UnreachedPart):
            self.parts[record.part] = record
        elif isinstance(record, LedgerFact):
            self._reached |= {row.name for row in record.rows if row.gradient not in ("none", "zero")}
        elif isinstance(record, TensorRows) and record.table.kind == "parameter":
            self.looks += 1
            self.last_look = record.step
            if self.parts:
                self._reached.update(record.table.names)

    def left(self) -> list[UnreachedPart]:
        return [
            part
            for part in self.parts.values()
            if not any(name == part.part or name.startswith(part.part + ".") for name in self._reached)
        ]


def by_line(parts: list[UnreachedPart]) -> list[tuple[UnreachedPart, int]]:
    """One part for every line that is at fault, and how many others it costs."""
    found: dict[tuple[str | None, int | None], list[UnreachedPart]] = {}
    for part in parts:
        found.setdefault((part.cut.file, part.cut.line), []).append(part)
    return [(group[0], len(group) - 1) for group in found.values()]


def size(part: UnreachedPart, others: int = 0) -> str:
    """`net.encoder` (4 parameters, 1,024 values)"""
    count = f"{part.parameters} parameters, " if part.parameters > 1 else ""
    like = f", like {others} other part{'s' if others > 1 else ''}," if others else ""
    return f"`{part.part}` ({count}{part.elements:,} values){like}"
