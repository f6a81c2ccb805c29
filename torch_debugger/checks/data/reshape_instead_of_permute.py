"""TD210: axes exchanged by view() or reshape(), which mixes up what belongs together."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at
from torch_debugger.checks.state import RunState
from torch_debugger.records import AxesLook, Edit, Finding, InputLook, Place, Record

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
            yield self._judge_inside(look, min(steps))

    def _see_data(self, record: InputLook) -> Iterable[Finding]:
        if record.layer in self._reported or not _exchanged(record.viewed, record.shape):
            return
        steps = self._seen.setdefault(record.layer, set())
        steps.add(record.step)
        if len(steps) >= self.looks_needed:
            self._reported.add(record.layer)
            yield self._judge(record, min(steps))

    def _judge_inside(self, look: AxesLook, first: int) -> Finding:
        before, after = list(look.before), list(look.after)
        source = f"What `{look.source}` made" if look.source else "A tensor"
        return self.finding(
            severity="error",
            confidence=0.93,
            message=(
                f"{source}, of shape {before}, is read as {after}{at(look.place)}: a view does not move axes, "
                "it mixes their contents."
            ),
            why=(
                "view() and reshape() keep all numbers in their order and only count them off differently. "
                "What was one time step, or one pixel, is spread over several places."
            ),
            fix=f"{_remedy(look)},{at(look.place)}.",
            where=look.place,
            first_step=first,
            last_step=look.step,
            evidence={"before": str(before), "after": str(after), "form": look.form},
        )

    def _judge(self, look: InputLook, first: int) -> Finding:
        where = look.viewed_at if look.viewed_at else look.call
        before, after = list(look.viewed), list(look.shape)
        axes = ", ".join(str(axis) for axis in _order(look.viewed, look.shape))
        return self.finding(
            severity="error",
            confidence=0.95,
            message=(
                f"`{look.layer}` ({look.kind}) is given a tensor of shape {before} read as {after}{at(where)}: "
                "view() does not move axes, it mixes their contents."
            ),
            why=(
                "view() and reshape() keep all numbers in their order and only count them off differently. "
                "What was one pixel, or one time step, is spread over several places."
            ),
            fix=f"Move the axes: `.permute({axes})` in place of the view() or reshape(){at(where)}.",
            where=where,
            first_step=first,
            last_step=look.step,
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
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found = [f for f in calls if isinstance(f, ast.Attribute) and f.attr in ("view", "reshape")]
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.func in found]
    if len(whole) != 1 or place.file is None or place.line is None or not code.isascii():
        return None
    end, last = found[0].value.end_col_offset, whole[0].end_col_offset
    return Edit(place.file, place.line, code, f"{code[:end]}.permute({axes}){code[last:]}")
