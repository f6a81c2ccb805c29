"""TD121: a weight is a plain tensor, so parameters() does not know it and nobody trains it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import line_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, Finding, PlainTensor, Record


class ParameterNotRegistered(Check):
    """A module keeps a weight as a plain tensor that needs a gradient, not as an nn.Parameter.

    Symptom:
        The loss falls more slowly than it should: a weight keeps its random start values, and it is missing
        in `parameters()`, `state_dict()` and `.to(device)`.
    Evidence:
        On several looks the attribute, or a plain list or dictionary in it, held the same tensor, which needs a
        gradient and is no parameter of the module; no optimizer holds it and its values never changed.
    Fix:
        `self.w = nn.Parameter(torch.randn(...))`; whatever scales or moves the values goes inside the brackets.
    Known limits:
        A tensor that the script updates by hand, or gives to an optimizer itself, is not reported.
    """

    id = "TD121"
    name = "parameter-not-registered"
    title = "a weight is a plain tensor and not a parameter"
    reads = (PlainTensor,)
    explains = ("lr-too-high", "posterior-collapse")  # what is not trained keeps the loss where it was

    # Identity and values, for any optimizer.
    looks_needed = 2  # after the first

    def __init__(self) -> None:
        self._last: dict[str, PlainTensor] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, PlainTensor)
        if not record.trained:
            return
        name = f"{record.owner}.{record.attribute}"
        self._last[name] = record
        if record.looks == self.looks_needed and self._is_left_alone(record) and state.optimizers:
            yield self._judge(name, record, min(record.step, state.step or record.step))

    def finish(self, state: RunState) -> Iterable[Finding]:
        for name, record in self._last.items():
            if record.looks > self.looks_needed and self._is_left_alone(record) and state.optimizers:
                yield self._judge(name, record, min(record.step, state.step or record.step))

    def _is_left_alone(self, record: PlainTensor) -> bool:
        in_use = record.reached or not record.is_leaf
        return in_use and not record.held and not record.changed

    def _judge(self, name: str, record: PlainTensor, step: int) -> Finding:
        what = "a plain tensor" if record.is_leaf else "the result of a calculation with a parameter"
        what = "kept in a plain list or dict" if "[" in record.attribute else what
        return self.finding(
            severity="error",
            confidence=0.95 if record.is_leaf else 0.85,
            message=(
                f"`{name}` ({record.elements:,} values) needs a gradient but is {what}{line_of(record.place)}: "
                f"no optimizer holds it, and it has kept its first values until step {step}."
            ),
            why=(
                "A module knows only attributes that are nn.Parameter objects, not what lies in a list. "
                "parameters(), and with it the optimizer, state_dict() and to(device) leave all other tensors "
                "out."
            ),
            fix=_fix(record),
            where=dataclasses.replace(record.place, module=name),
            first_step=1,
            last_step=step,
            evidence={"values": float(record.elements), "looks": float(record.looks)},
            edit=_edit(record),
        )


def _fix(record: PlainTensor) -> str:
    held, _, key = record.attribute.partition("[")
    if key:
        kind = "nn.ParameterDict" if key[0] in "'\"" else "nn.ParameterList"
        return f"Put what `self.{held}` holds{line_of(record.place)} into an `{kind}`."
    return (
        f"Make `self.{held}` an `nn.Parameter`{line_of(record.place)}, with the whole calculation of its start "
        "values inside the brackets."
    )


def _edit(record: PlainTensor) -> Edit | None:
    place = record.place
    written = re.fullmatch(r"(self\.\w+\s*=\s*)(.+?),\s*requires_grad=True\)", place.code or "")
    if written is None or place.file is None or place.line is None:
        return None
    start, made = written.groups()
    return Edit(place.file, place.line, place.code or "", f"{start}nn.Parameter({made}))")
