"""TD151: values that a loss was computed from are written through .data before its backward."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import call_at, line_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import DataWritten, Finding, Place, Record


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

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, DataWritten)
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
            message=(
                f"{line} writes {names} between the forward and the backward(){line_of(fact.backward)}"
                f"{changed}: the gradients belong to other values than the loss."
            ),
            why=(
                "Backward computes with the values that the forward used, and reads them from the tensors "
                "themselves. A write through `.data` changes them unseen: it is counted by no version, so "
                "autograd cannot refuse."
            ),
            fix=(
                f"Move `{fact.place.code or fact.name}` behind the optimizer's step(), and write under `with "
                "torch.no_grad():` instead of through `.data`."
            ),
            where=fact.place,
            first_step=looks[0].step,
            last_step=fact.step,
            evidence={
                "tensor": fact.name,
                "values": float(fact.elements),
                "change_of_norm": largest,
                "looks": float(len({look.step for look in looks})),
            },
        )
