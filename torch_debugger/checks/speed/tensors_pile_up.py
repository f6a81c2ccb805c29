"""TD760: a container that gets more tensors with every step and is never emptied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import severity_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, HeldByVariable, KeptGraphs, MemoryLook, PassFact, Record
from torch_debugger.records.memory import AFTER_UPDATE
from torch_debugger.records.units import bytes_text


@dataclass(frozen=True)
class _Seen:
    look: MemoryLook
    held: HeldByVariable
    passes: int  # that had ended before its step


@dataclass
class _Variable:
    seen: list[_Seen] = field(default_factory=list)  # the first ones, and the last
    reported: bool = False


class TensorsPileUp(Check):
    """A container gets more tensors with every step, over several passes through the data.

    Symptom:
        Memory grows steadily though no autograd graph is kept; the run slows down or ends in "out of memory"
        after many epochs.
    Evidence:
        On each of several looks the container had grown and its first tensor was still the same. Training
        passes over the data ended in between, so it is not the list of one epoch. Its bytes are those of its
        tensors, each storage counted once, as a share of what was in use at the fullest look.
    Fix:
        Empty it when an epoch is over (`features.clear()`), or keep what you compute of the tensors instead of
        the tensors; on a GPU, append `.cpu()` of them at least.
    Known limits:
        Of long containers a few entries are measured. A loop that uses no DataLoader has no passes and is not
        judged, nor is a deque with a `maxlen`. What keeps graphs is told by memory-grows.
    """

    id = "TD760"
    name = "tensors-pile-up"
    title = "a container gets more tensors with every step and is never emptied"
    reads = (MemoryLook, PassFact, KeptGraphs)
    explains = ("out-of-memory", "steps-get-slower")

    looks_needed = 4
    # The outputs of one epoch may be collected for its metrics; what outlives two is not emptied by any.
    passes_outlived = 2
    # Entries that came in for each step between two looks; some loops add on every second step, none less.
    smallest_growth = 0.25
    # Less than this is missed by no machine that trains.
    least_bytes = 32 * 2**20

    def __init__(self) -> None:
        self._variables: dict[tuple[str, str], _Variable] = {}
        self._passes, self._last_pass = 0, -1  # training passes that have ended; the step of the last one
        self._keeps_graphs: set[str] = set()
        self._most: dict[str, int] = {}  # bytes in use, by device, at the fullest look

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, KeptGraphs):
            self._keeps_graphs.add(record.name)
        elif isinstance(record, PassFact):
            self._passes += bool(record.updates)
            self._last_pass = record.step if record.updates else self._last_pass
        elif isinstance(record, MemoryLook):
            self._most[record.device] = max(record.used_bytes, self._most.get(record.device, 0))
            if record.moment == AFTER_UPDATE:
                for held in record.variables:
                    yield from self._follow(record, held)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for variable in self._variables.values():
            if variable.reported and self._is_certain(variable.seen):
                yield from self._judge(variable.seen)

    def _follow(self, look: MemoryLook, held: HeldByVariable) -> Iterable[Finding]:
        variable = self._variables.setdefault((look.device, held.name), _Variable())
        now = _Seen(look, held, self._passes - (self._last_pass >= look.step))
        if variable.seen and not self._follows(variable.seen[-1], now):
            variable.seen = []
        variable.seen = [*variable.seen[: self.looks_needed], now]
        if not variable.reported and self._is_certain(variable.seen):
            found = list(self._judge(variable.seen))
            variable.reported = bool(found)
            yield from found

    def _follows(self, before: _Seen, now: _Seen) -> bool:
        came = now.held.count - before.held.count
        steps = now.look.step - before.look.step
        return now.held.since == before.held.since and came > 0 and came >= self.smallest_growth * steps

    def _is_certain(self, seen: list[_Seen]) -> bool:
        last = seen[-1]
        return (
            last.held.grown
            and last.held.name not in self._keeps_graphs
            and last.held.size_bytes >= self.least_bytes
            and len(seen) >= self.looks_needed
            and last.passes - seen[0].passes >= self.passes_outlived
        )

    def _judge(self, seen: list[_Seen]) -> Iterable[Finding]:
        first, last = seen[0], seen[-1]
        held, used = last.held, self._most[last.look.device]
        share = held.size_bytes / used
        severity = severity_of(share)
        if severity is None:
            return
        steps = last.look.step - first.look.step
        a_step = (held.size_bytes - first.held.size_bytes) / steps
        passes = last.passes - first.passes
        device = "the CPU" if last.look.device == "cpu" else last.look.device
        yield self.finding(
            severity=severity,
            confidence=0.9,
            message=(
                f"`{held.name}` holds {held.count:,} tensors of {bytes_text(held.size_bytes)} on {device}, "
                f"{100 * share:.0f} % of all that is in use, and gets {bytes_text(int(a_step))} more with "
                f"every step: {passes} passes over the data have ended and none of it was let go."
            ),
            why=(
                "A tensor stays in memory as long as any container holds it. What one step adds is small; "
                "after enough steps it is all the memory there is."
            ),
            fix=self._fix(held, last.look.device, a_step),
            where=held.place,
            first_step=held.since,
            last_step=last.look.step,
            evidence={
                "variable": held.name,
                "bytes": float(held.size_bytes),
                "bytes_in_use": float(used),
                "bytes_per_step": float(round(a_step)),
                "tensors": float(held.count),
                "passes_outlived": float(passes),
                "expected_gain": round(share, 3),
            },
        )

    def _fix(self, held: HeldByVariable, device: str, a_step: float) -> str:
        to_host = (
            f" If all of it is needed, add `{held.added or 'x'}.cpu()`: the memory of the GPU stays free."
            if device != "cpu"
            else ""
        )
        return (
            f"Empty it when an epoch is over, `{held.name}.clear()`, or keep what you compute of the tensors "
            f"instead of them: that frees {bytes_text(held.size_bytes)} now and "
            f"{bytes_text(int(1000 * a_step))} with every 1,000 steps to come.{to_host}"
        )
