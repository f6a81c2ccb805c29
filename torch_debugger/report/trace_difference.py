"""Two traces of torch.profiler side by side: what a step of the second takes longer or less, and where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from torch_debugger.records import TraceReport
from torch_debugger.records.trace import STEP_PARTS
from torch_debugger.report.printable import one_line
from torch_debugger.report.profile import time_text
from torch_debugger.report.trace import Cells, grid, short_kernel, text_of

_MOST = 15
_NAME = 48  # characters


@dataclass(frozen=True, slots=True)
class Change:
    """Of one step: seconds, and calls where they are counted."""

    name: str
    before_s: float
    after_s: float
    before_calls: float = 0.0
    after_calls: float = 0.0

    @property
    def more_s(self) -> float:
        return self.after_s - self.before_s


@dataclass(frozen=True, slots=True)
class TraceDifference:
    before: str  # the files
    after: str
    step: Change
    parts: tuple[Change, ...]
    ops: tuple[Change, ...]  # by their own time, of the device where both have one; the largest change first
    kernels: tuple[Change, ...]
    on_device: bool
    peak_bytes: dict[str, tuple[int, int]]


def difference(before: TraceReport, after: TraceReport) -> TraceDifference:
    parts = before.parts, after.parts
    on_device = before.device is not None and after.device is not None
    peaks = [each.memory.peak_bytes if each.memory is not None else {} for each in (before, after)]
    return TraceDifference(
        before.file,
        after.file,
        Change("a step", before.step_s, after.step_s),
        tuple(
            Change(name, parts[0].get(name, 0.0), parts[1].get(name, 0.0))
            for name in STEP_PARTS
            if name in parts[0] or name in parts[1]
        ),
        _changes(_op_times(before, on_device=on_device), _op_times(after, on_device=on_device)),
        _changes(_kernel_times(before), _kernel_times(after)),
        on_device,
        {device: (peaks[0][device], peaks[1][device]) for device in peaks[0] if device in peaks[1]},
    )


_Times = dict[str, tuple[float, float]]  # by name: seconds and calls, a step


def _op_times(report: TraceReport, *, on_device: bool) -> _Times:
    steps = max(1, len(report.steps))
    return {
        each.name: ((each.device_self_s if on_device else each.host_self_s) / steps, each.calls / steps)
        for each in report.ops
    }


def _kernel_times(report: TraceReport) -> _Times:
    steps = max(1, len(report.steps))
    return {each.name: (each.total_s / steps, each.calls / steps) for each in report.kernels}


def _changes(before: _Times, after: _Times) -> tuple[Change, ...]:
    none = (0.0, 0.0)
    names: Iterable[str] = dict.fromkeys([*before, *after])
    pairs = ((name, before.get(name, none), after.get(name, none)) for name in names)
    found = [Change(name, one[0], other[0], one[1], other[1]) for name, one, other in pairs]
    return tuple(sorted(found, key=lambda each: -abs(each.more_s)))


def difference_text(found: TraceDifference) -> str:
    own = "GPU time" if found.on_device else "CPU time"
    blocks: list[RenderableType] = [
        Text(_opening(found), style="bold"),
        Text(one_line(f"before: {found.before}")),
        Text(one_line(f"after:  {found.after}")),
        grid("a step, by what it was spent on", _HEADS[:4], [_row(each)[:4] for each in found.parts]),
        grid(f"operators by the change of their own {own}, a step", _HEADS, _rows(found.ops)),
        grid("kernels by the change of their time, a step", _HEADS, _rows(found.kernels)),
        *(Text(_memory(device, *peaks)) for device, peaks in found.peak_bytes.items()),
    ]
    return text_of(blocks)


_HEADS = ("", "before", "after", "more", "calls before", "calls after")


def _opening(found: TraceDifference) -> str:
    """A step takes 12 ms after 10 ms: 20 % longer."""
    before, after = found.step.before_s, found.step.after_s
    change = after / max(before, 1e-12) - 1
    how = f"{abs(change):.1%} {'longer' if change > 0 else 'shorter'}" if abs(change) >= 0.001 else "as long"
    return f"A step takes {time_text(after)} in the second trace and {time_text(before)} in the first: {how}."


def _rows(changes: Iterable[Change]) -> list[Cells]:
    shown = [each for each in changes if each.more_s or each.before_calls != each.after_calls]
    return [_row(each) for each in shown[:_MOST]]


def _row(each: Change) -> Cells:
    sign = "+" if each.more_s >= 0 else "-"
    name = short_kernel(each.name)
    return (
        name if len(name) <= _NAME else f"{name[: _NAME - 1]}…",
        time_text(each.before_s),
        time_text(each.after_s),
        f"{sign}{time_text(abs(each.more_s))}",
        f"{each.before_calls:.4g}",
        f"{each.after_calls:.4g}",
    )


def _memory(device: str, before: int, after: int) -> str:
    peaks = f"{before / 1e6:,.4g} MB, then {after / 1e6:,.4g} MB"
    return one_line(f"Peak of the memory that torch had given out on {device}: {peaks}.")
