"""TD122: a module's running state is a plain attribute, so no checkpoint has it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import call_at, line_of
from torch_debugger.checks.factory_line import as_buffer
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, Finding, PlainTensor, Record


class BufferNotRegistered(Check):
    """A module keeps a running state (a mean, a memory, counts) in a plain tensor instead of a buffer.

    Symptom:
        The model works until it is saved and loaded: then it gives other results, because the state is back
        at its start values. On another device forward() fails.
    Evidence:
        The attribute is a plain tensor, a method makes it anew from its own last value, forward() reads it
        for something else, its values changed during the run, and the script saves a state_dict().
    Fix:
        `self.register_buffer("mean", torch.zeros(n))` in `__init__`; updates stay as they are.
    Known limits:
        States that a method also resets, or that a recurrent layer computes, belong to a sequence and are not
        reported. In a script that saves nothing it is only noted.
    """

    id = "TD122"
    name = "buffer-not-registered"
    title = "a running state is missing in state_dict()"
    reads = (PlainTensor,)

    def __init__(self) -> None:
        self._last: dict[str, PlainTensor] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, PlainTensor)
        if record.update and not record.trained:
            self._last[f"{record.owner}.{record.attribute}"] = record
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        for name, record in self._last.items():
            if record.changed:
                yield self._judge(name, record)

    def _judge(self, name: str, record: PlainTensor) -> Finding:
        edit = _edit(record)
        return self.finding(
            severity="warning" if record.saved else "note",
            confidence=0.85 if record.saved else 0.6,
            message=(
                f"`{name}` ({record.elements:,} values) is a running state, updated by "
                f"{call_at(record.update, 'a line of the class')}, that state_dict() leaves out: it is a plain "
                f"tensor{line_of(record.place)}."
            ),
            why=(
                "state_dict() saves parameters and buffers. A plain tensor is neither: after loading it has "
                "its start values again, and `.to(device)` leaves it behind."
            ),
            fix=(
                f"Write `{edit.after}`{line_of(record.place)}."
                if edit is not None
                else f'Register it{line_of(record.place)}: `self.register_buffer("{record.attribute}", ...)`.'
            ),
            where=dataclasses.replace(record.place, module=name),
            first_step=1,
            last_step=record.step,
            evidence={"values": float(record.elements), "looks": float(record.looks)},
            edit=edit,
        )


def _edit(record: PlainTensor) -> Edit | None:
    place = record.place
    written = as_buffer(place.code or "")
    if written is None or place.file is None or place.line is None:
        return None
    return Edit(place.file, place.line, place.code or "", written.replace(", persistent=False", ""))
