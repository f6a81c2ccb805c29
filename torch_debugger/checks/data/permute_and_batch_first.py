"""Axes that were mixed up: view() for permute(), the batch taken for time."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.call_edits import calls_in, edit_line
from torch_debugger.records import (
    AxesLook,
    BatchLook,
    Edit,
    Finding,
    InputLook,
    Place,
    Record,
    SequenceInput,
    TargetLook,
)

Shape = tuple[int, ...]


class ReshapeInsteadOfPermute(Check):
    """The axes of a batch are exchanged by view() or reshape() instead of permute().

    Symptom:
        The shapes fit and the model trains, but it learns far less than it should: every image, or every
        sequence, is a mixture of rows, channels or samples.
    Evidence:
        The first layer's input is a view, in the same order of elements, of a tensor with the same sizes in
        another order: [32, 28, 28, 3] read as [32, 3, 28, 28]. Or the loss's graph has such a view() of what a
        layer made, also where heads are split: [32, 10, 64] read as [32, 4, 10, 16].
    Fix:
        `x.permute(0, 3, 1, 2)` (or `transpose`) moves axes; view() and reshape() only cut the same row of
        numbers differently.
    Known limits:
        Of data, seen where the view itself reaches the layer: a copy made in between (`.float()` after it)
        hides it, and so does numpy's reshape.
    """

    id = "TD210"
    name = "reshape-instead-of-permute"
    title = "axes are exchanged by a reshape"
    reads = (InputLook, AxesLook)

    looks_needed = 2  # on different steps, with the same exchange

    def __init__(self) -> None:
        self._seen: dict[str, set[int]] = {}
        self._reported: set[str] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, AxesLook):
            yield from self._see_inside(record)
        elif isinstance(record, InputLook):
            yield from self._see_data(record)

    def _see_inside(self, look: AxesLook) -> Iterable[Finding]:
        key = f"{look.place.file}:{look.place.line}"
        steps = self._seen.setdefault(key, set())
        steps.add(look.step)
        if len(steps) >= self.looks_needed and look.form not in self._reported:
            self._reported.add(look.form)  # queries, keys and values are read the same way
            first = min(steps)
            before, after = list(look.before), list(look.after)
            source = f"What `{look.source}` made" if look.source else "A tensor"
            yield self.finding(
                severity="error",
                confidence=0.93,
                message=f"{source}, of shape {before}, is read as {after}{at_line(look.place)}: a view does not move "
                "axes, it mixes their contents.",
                why="view() and reshape() keep all numbers in their order and only count them off differently. "
                "What was one time step, or one pixel, is spread over several places.",
                fix=f"{_remedy(look)},{at_line(look.place)}.",
                where=look.place,
                steps=(first, look.step),
                evidence={"before": str(before), "after": str(after), "form": look.form},
            )

    def _see_data(self, record: InputLook) -> Iterable[Finding]:
        if record.layer in self._reported or not _exchanged(record.viewed, record.shape):
            return
        steps = self._seen.setdefault(record.layer, set())
        steps.add(record.step)
        if len(steps) >= self.looks_needed:
            self._reported.add(record.layer)
            first = min(steps)
            where = record.viewed_at if record.viewed_at else record.call
            before, after = list(record.viewed), list(record.shape)
            axes = ", ".join(str(axis) for axis in _order(record.viewed, record.shape))
            yield self.finding(
                severity="error",
                confidence=0.95,
                message=f"`{record.layer}` ({record.kind}) is given a tensor of shape {before} read as "
                f"{after}{at_line(where)}: view() does not move axes, it mixes their contents.",
                why="view() and reshape() keep all numbers in their order and only count them off differently. "
                "What was one pixel, or one time step, is spread over several places.",
                fix=f"Move the axes: `.permute({axes})` in place of the view() or reshape(){at_line(where)}.",
                where=where,
                steps=(first, record.step),
                evidence={"before": str(before), "after": str(after)},
                edit=_edit(where, axes),
            )


def _exchanged(before: Shape, after: Shape) -> bool:
    """The same sizes in another order; axes of size 1 may go anywhere."""
    real_before, real_after = ([size for size in shape if size > 1] for shape in (before, after))
    same_sizes = len(before) == len(after) >= 3 and sorted(before) == sorted(after)
    return same_sizes and real_before != real_after


def _order(before: Shape, after: Shape) -> list[int]:
    """Which old axis stands where; axes of equal size keep their order."""
    left = list(range(len(before)))
    order = []
    for size in after:
        axis = next(axis for axis in left if before[axis] == size)
        left.remove(axis)
        order.append(axis)
    return order


def _remedy(look: AxesLook) -> str:
    if look.form == "heads split":
        batch, heads, steps, size = look.after
        return f"Split, then move: `.view({batch}, {steps}, {heads}, {size}).transpose(1, 2)`, with your names"
    if look.form == "heads merged":
        return "Move the heads back before they are joined: `.transpose(1, 2)` in front of the reshape()"
    axes = ", ".join(str(axis) for axis in _order(look.before, look.after))
    return f"Move the axes: `.permute({axes})` in place of the view() or reshape()"


def _edit(place: Place, axes: str) -> Edit | None:
    code = place.code or ""
    found = [
        (call.func.value.end_col_offset, call.end_col_offset)
        for call in calls_in(code)
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("view", "reshape")
    ]
    if len(found) != 1 or not code.isascii():
        return None
    end, last = found[0]
    return edit_line(place, f"{code[:end]}.permute({axes}){code[last:]}")


class BatchAxisTakenForTime(Check):
    """A recurrent or attention layer without `batch_first=True` is given [batch, time, features].

    Symptom:
        The shapes fit and the loss falls somewhat, but the model stays far below what it should reach, and
        what it says about a sample depends on the other samples of the batch.
    Evidence:
        The layer takes the first axis for time. That axis has the size of the batch: one target for each of
        its places, or the batch size of the loader that is trained on; the second axis has another size.
    Fix:
        Make the layer with `batch_first=True`, or give it `x.transpose(0, 1)`.
    Known limits:
        Where batch and sequences are equally long nothing can be told, nor with one sequence a batch.
    """

    id = "TD218"
    name = "batch-axis-taken-for-time"
    title = "a layer takes the batch for time"
    reads = (SequenceInput, TargetLook, BatchLook)

    looks_needed = 2  # on different steps
    waiting = 16  # looks, for the targets of their step: a device tells them later

    def __init__(self) -> None:
        self._inputs: deque[SequenceInput] = deque(maxlen=self.waiting)
        self._trained: set[int] = set()  # loaders
        self._steps: dict[str, list[int]] = {}
        self._cleared: set[str] = set()  # layers that do get time first
        self._reported: set[str] = set()  # models

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, SequenceInput):
            self._inputs.append(record)
        elif isinstance(record, BatchLook):
            self._trained |= {record.loader} if record.trained else set()
        elif isinstance(record, TargetLook):
            for look in [look for look in self._inputs if look.step == record.step]:
                self._inputs.remove(look)
                yield from self._compare(look, record.shape, state)

    def _compare(self, look: SequenceInput, targets: tuple[int, ...], state: RunState) -> Iterable[Finding]:
        first, second = look.shape[:2]
        one_each = len(targets) == 1 or targets[1:] == (1,)
        # Of the loader that is trained on; where there is one, or all agree.
        sizes = {fact.batch_size for number in self._trained if (fact := state.loaders.get(number)) is not None}
        batch = targets[0] if one_each else sizes.pop() if len(sizes) == 1 else None
        if batch == second:
            self._cleared.add(look.layer)
        if batch != first or second in (1, first) or look.fed[:1] != (first,) or look.layer in self._cleared:
            return
        steps = self._steps.setdefault(look.layer, [])
        steps.append(look.step)
        root = look.layer.split(".")[0]
        if len(set(steps)) >= self.looks_needed and root not in self._reported:
            self._reported.add(root)
            yield self._judge(look, steps[0], state)

    def _judge(self, look: SequenceInput, first: int, state: RunState) -> Finding:
        batch, steps, size = look.shape
        # The line of the module itself, or of the nearest one around it whose line is known.
        names = look.layer.split(".")
        around = (state.module(".".join(names[:count])) for count in range(len(names), 0, -1))
        where = next((module.place for module in around if module is not None and module.place.file), look.call)
        code = where.code or ""
        whole = code.endswith(")") and code.count(f"{look.kind}(") == 1 and code.count("(") == 1
        return self.finding(
            severity="error",
            confidence=0.92,
            message=f"`{look.layer}` ({look.kind}) is given {list(look.shape)}{at_line(look.call)} and takes the first "
            f"axis for time, but that is the batch: it runs over the {batch} samples as if they were steps.",
            why=f"Without `batch_first=True` {look.kind} reads [time, batch, features]. Here it mixes the samples of "
            f"a batch with each other, and the {steps} steps of a sequence know nothing of each other.",
            fix=f"Make `{look.layer}`{at_line(where)} with `batch_first=True`, or give it "
            f"`x.transpose(0, 1)`{at_line(look.call)} and read its output as [time, batch, features].",
            where=where,
            steps=(first, look.step),
            evidence={"batch": float(batch), "steps": float(steps), "features": float(size)},
            edit=edit_line(where, f"{code[:-1]}, batch_first=True)") if whole and "batch_first" not in code else None,
        )
