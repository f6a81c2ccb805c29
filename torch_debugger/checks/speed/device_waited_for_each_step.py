"""TD730: a line makes the host wait for the device in every step, and then the device has nothing to do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import milliseconds, severity_of
from torch_debugger.checks.profiled_steps import each, idle_s, plain_s
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, Finding, Place, ProfileFact, Record, SyncTime

_ADDED_UP = re.compile(r"^(?P<sum>[\w.]+ \+= .*?)(?:(?P<name>[\w.]+)\.item\(\)|float\((?P<given>[\w.]+)\))$")
_REMEDIES = {
    "aten::nonzero": "A size that depends on values has to be read by the host: use `torch.where(mask, a, "
    "b)`, multiply by the mask, or weight the loss with it instead of picking rows",
    "aten::is_nonzero": "Do not branch on a tensor: `torch.where`, or a decision that is taken every 50 steps",
    "aten::to": "Leave the tensor on the device (`.detach()`), and copy it every 50 steps",
    "cudaDeviceSynchronize": "Leave out `torch.cuda.synchronize()`: reading a result waits by itself",
}
_MASKED = ("aten::index", "aten::masked_select", "aten::index_put_")


class DeviceWaitedForEachStep(Check):
    """A line needs a number from the device in every step, and the device stands still after it.

    Symptom:
        The device's use goes up and down although there is enough to do. Steps take about as long as the
        host's work and the device's work together, rather than as the longer of the two.
    Evidence:
        From a profile of some steps: the waits of the host (in `.item()`, `.cpu()`, `print(tensor)`,
        `float(loss)`, `nonzero`, a boolean mask, `if tensor:`) by line, and how long the device had nothing
        to do after each of them. A wait for work that has to be done anyway is no loss: what counts is the
        shorter of the wait and the idle time that follows it.
    Fix:
        Keep the number on the device (`total += loss.detach()`) and read it every 50 steps.
    Known limits:
        Needs a profile (`run --profile`) of a training on a GPU. Waits of less than half of the steps are
        left alone, and so are copies to the device: `unpinned-copy` knows them.
    """

    id = "TD730"
    name = "device-waited-for-each-step"
    title = "a line waits for the device in every step, which then stands still"
    reads = (ProfileFact,)

    # Of the profiled steps: a line that prints now and then is no fault.
    least_steps = 0.5
    # Lost in a step: below, the clock of a busy host tells nothing.
    least_lost_s = 0.0003

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, ProfileFact)
        lines = _by_line(record)
        steady = {place: syncs for place, syncs in lines.items() if self._is_steady(syncs, record)}
        lost_s = min(idle_s(record), sum(_lost_s(syncs) for syncs in steady.values()))
        gain = lost_s / plain_s(record) if steady else 0.0
        severity = severity_of(gain)
        if severity is not None and each(lost_s, record) >= self.least_lost_s:
            yield self._judge(record, steady, severity, gain, lost_s)

    def _is_steady(self, syncs: list[SyncTime], record: ProfileFact) -> bool:
        return max(sync.count for sync in syncs) >= self.least_steps * record.steps

    def _judge(
        self, record: ProfileFact, lines: dict[Place, list[SyncTime]], severity: str, gain: float, lost_s: float
    ) -> Finding:
        place, syncs = max(lines.items(), key=lambda item: _lost_s(item[1]))
        count, wait_s = sum(sync.count for sync in syncs), sum(sync.wait_s for sync in syncs)
        often = f"{count / max(1, record.steps):.3g} times" if count > record.steps else "once"
        others = f" {len(lines) - 1} more lines do the same." if len(lines) > 1 else ""
        worst = max(syncs, key=lambda sync: sync.lost_s)
        edit = _edit(place)
        return self.finding(
            severity=severity,
            confidence=0.85,
            message=(
                f"`{place.code or worst.op}` waits for the device {often} in each step, for "
                f"{milliseconds(each(wait_s, record))}, and then the device has nothing to do: that is "
                f"{milliseconds(each(lost_s, record))} of the {milliseconds(each(plain_s(record), record))} "
                f"of a step.{others}"
            ),
            why=(
                "The host puts work into the device's queue ahead of time. When it needs a number from "
                "there, the queue has to run empty first, and what the host does next happens while the "
                "device stands still."
            ),
            fix=f"{_remedy(worst, edit)}. That saves up to {100 * gain:.0f} % of a step.",
            where=place,
            first_step=record.first_step,
            last_step=record.first_step + record.steps - 1,
            evidence={
                "expected_gain": gain,
                "lost_s": each(lost_s, record),
                "wait_s": each(wait_s, record),
                "step_s": each(plain_s(record), record),
                "device_busy_s": each(record.device_busy_s, record),
                "op": worst.op,
            },
            edit=edit,
        )


def _by_line(record: ProfileFact) -> dict[Place, list[SyncTime]]:
    """Without the lines that bring data to the device."""
    ways: dict[Place, set[str]] = {}
    for copy in record.copies:
        ways.setdefault(copy.place, set()).add(copy.way)
    lines: dict[Place, list[SyncTime]] = {}
    for sync in record.syncs:
        if sync.place.file and ways.get(sync.place) != {"host to device"}:
            lines.setdefault(sync.place, []).append(sync)
    return lines


def _lost_s(syncs: list[SyncTime]) -> float:
    return sum(sync.lost_s for sync in syncs)


def _remedy(sync: SyncTime, edit: Edit | None) -> str:
    if edit is not None:
        return f"Write `{edit.after}`: the sum stays on the device, and printing it now and then reads it"
    if sync.op in _MASKED:
        return _REMEDIES["aten::nonzero"]
    usual = "Keep the value on the device (`.detach()`) and read it every 50 steps: `if step % 50 == 0:`"
    return _REMEDIES.get(sync.op, usual)


def _edit(place: Place) -> Edit | None:
    """total += loss.item() -> total += loss.detach()"""
    found = _ADDED_UP.match(place.code or "")
    if found is None or place.file is None or place.line is None:
        return None
    name = found["name"] or found["given"]
    return Edit(place.file, place.line, found[0], f"{found['sum']}{name}.detach()")
