"""A trace of torch.profiler as the user reads it in a terminal: steps, advice, operators, kernels, ranks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from torch_debugger.records import Finding, TracedKernel, TracedOp, TracedRank, TraceReport
from torch_debugger.records.performance import STEP_PARTS
from torch_debugger.records.units import bytes_text
from torch_debugger.report.json_and_markdown import finding_to_json
from torch_debugger.report.profile import opening, profile_blocks, time_text
from torch_debugger.report.tables import plain_text
from torch_debugger.report.text import one_line, shown_path

WIDEST = 110
_MOST_OPS, _MOST_SHAPES, _MOST_KERNELS, _MOST_ALLOCATIONS = 15, 10, 10, 5
_NAME, _SHAPES = 34, 44  # characters
_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
Cells = tuple[str, ...]


def trace_text(
    report: TraceReport, findings: Sequence[Finding], ranks: Sequence[TracedRank], folder: str | None
) -> str:
    return plain_text(Group(*_blocks(report, findings, ranks, folder)), WIDEST)


def trace_to_json(
    report: TraceReport, findings: Sequence[Finding], ranks: Sequence[TracedRank], folder: str | None
) -> dict[str, Any]:
    """Format 1: the tables as they are, in seconds and bytes."""
    advice = [finding_to_json(finding, folder, None) for finding in findings]
    return {
        "format": 1,
        "step_s": report.step_s,
        "parts_s": report.parts,
        **dataclasses.asdict(report),
        "ranks": [dataclasses.asdict(rank) for rank in ranks],
        "findings": advice,
    }


def _blocks(
    report: TraceReport, findings: Sequence[Finding], ranks: Sequence[TracedRank], folder: str | None
) -> list[RenderableType]:
    steps = max(1, len(report.steps))
    tables = [
        ("a step, by what it was spent on", ("", "", "a step", "share"), _parts(report)),
        *([("the GPU", ("", ""), _device(report))] if report.device is not None else []),
    ]
    blocks: list[RenderableType] = [Text(opening(report.profile), style="bold")]
    blocks += [grid(title, heads, rows) for title, heads, rows in tables if rows]
    blocks += _advice(findings, folder)
    blocks += profile_blocks(report.profile, folder, WIDEST, with_ops=False)[1:]
    blocks += [
        grid("operators, a step", _op_heads(report, "operator"), _ops(report.ops[:_MOST_OPS], report, steps)),
        grid(
            "operators by the shapes of their inputs, a step",
            _op_heads(report, "operator", "inputs"),
            _ops(report.ops_by_shape[:_MOST_SHAPES], report, steps, shapes=True),
        ),
        grid(
            "kernels, a step",
            _KERNEL_HEADS,
            [_kernel(each, steps) for each in report.kernels[:_MOST_KERNELS]],
        ),
        grid(
            "collectives, a step",
            ("name", "calls", "time", "bytes"),
            [
                (each.name, f"{each.calls / steps:.4g}", time_text(each.total_s / steps),
                 bytes_text(each.size_bytes // steps) if each.size_bytes else "")
                for each in report.collectives
            ],
        ),
        grid("ranks, a step", _RANK_HEADS, [_rank(each) for each in ranks] if len(ranks) > 1 else []),
        grid(
            "what asked for memory, a step",
            ("operator", "device", "calls", "bytes"),
            [
                (_cut(each.op or "outside of operators"), each.device, f"{each.allocations / steps:.4g}",
                 bytes_text(each.allocated_bytes // steps))
                for each in report.allocations[:_MOST_ALLOCATIONS]
            ],
        ),
    ]  # fmt: skip
    sentences = list(report.notes)
    if report.memory is not None:
        peaks = ", ".join(f"{device} {bytes_text(peak)}" for device, peak in report.memory.peak_bytes.items())
        sentences.insert(0, f"Memory that torch had given out, at most: {peaks}.")
    return [block for block in blocks if block is not None] + [Text(one_line(each)) for each in sentences]


def grid(title: str, heads: Sequence[str], rows: Sequence[Cells]) -> RenderableType:
    """The first column is text, the others are numbers; nothing where there are no rows."""
    if not rows:
        return Group()
    table = Table.grid(padding=(0, 2, 0, 0))
    for place, head in enumerate(heads):
        left = place == 0 or head in ("inputs", "device", "")
        table.add_column(justify="left" if left else "right", no_wrap=True)
    if any(heads):
        table.add_row(*(Text(head, style="dim") for head in heads))
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    return Group(Text(title), Padding(table, (0, 0, 0, 2)))


def _parts(report: TraceReport) -> list[Cells]:
    each_s = max(report.step_s, 1e-12)
    return [
        (name, "█" * round(20 * seconds / each_s) or "▏", time_text(seconds), f"{100 * seconds / each_s:.0f} %")
        for name, seconds in report.parts.items()
    ]


def _device(report: TraceReport) -> list[Cells]:
    device = report.device
    assert device is not None
    return [
        ("name", device.name),
        ("busy", f"{device.busy:.1%}"),
        ("SM efficiency, estimated", f"{device.sm_efficiency:.1%}"),
        ("occupancy of its kernels, estimated", f"{device.occupancy:.1%}"),
        ("kernels that use tensor cores, of their time", f"{device.tensor_cores:.1%}"),
    ]


def _advice(findings: Sequence[Finding], folder: str | None) -> list[RenderableType]:
    lines: list[RenderableType] = [Text("advice")] if findings else []
    for finding in findings:
        place = finding.where
        spot = f"{shown_path(place.file, folder)}:{place.line}" if place.file else ""
        heading = Text(f"{finding.severity}: {finding.name}", style=_STYLES[finding.severity])
        heading.append(f"  {one_line(spot)}" if spot else "", style="not bold dim")
        lines.append(Padding(heading, (0, 0, 0, 2)))
        lines.append(Padding(Text(one_line(f"{finding.message} {finding.fix}")), (0, 0, 0, 4)))
    return lines


def _op_heads(report: TraceReport, *names: str) -> tuple[str, ...]:
    on_device = ("GPU", "GPU, itself") if report.device is not None else ()
    return (*names, "calls", *on_device, "CPU", "CPU, itself")


def _ops(found: Sequence[TracedOp], report: TraceReport, steps: int, *, shapes: bool = False) -> list[Cells]:
    rows: list[Cells] = []
    for each in found:
        seconds = [each.host_s, each.host_self_s]
        if report.device is not None:
            seconds = [each.device_s, each.device_self_s, *seconds]
        room = (26, 30) if report.device is not None else (_NAME, _SHAPES)
        name = (_cut(each.name, room[0]), _cut(each.shapes, room[1])) if shapes else (_cut(each.name),)
        rows.append((*name, f"{each.calls / steps:.4g}", *(time_text(value / steps) for value in seconds)))
    return rows


_KERNEL_HEADS = ("kernel", "calls", "total", "mean", "longest", "blocks/SM", "occupancy")


def _kernel(each: TracedKernel, steps: int) -> Cells:
    return (
        _cut(short_kernel(each.name), 48),
        f"{each.calls / steps:.4g}",
        time_text(each.total_s / steps),
        time_text(each.total_s / max(1, each.calls)),
        time_text(each.longest_s),
        f"{each.blocks_per_sm:.3g}",
        f"{each.occupancy:.0%}",
    )


def short_kernel(name: str) -> str:
    """Without what all names of C++ have: void, namespaces of torch, the list of parameters."""
    name = name.removeprefix("void ").replace("(anonymous namespace)::", "").replace("at::native::", "")
    depth = 0
    for place, character in enumerate(name):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0:
            return name[:place]
    return name


_RANK_HEADS = ("rank", "a step", "computing", "overlap", "communicating", "other")


def _rank(each: TracedRank) -> Cells:
    whole = max(each.step_s, 1e-12)
    parts = (each.computing_s, each.overlap_s, each.communicating_s, each.other_s)
    shares = (f"{time_text(part)} {100 * part / whole:.0f} %" for part in parts)
    return f"{each.rank} ({each.device})", time_text(each.step_s), *shares


def _cut(name: str, most: int = _NAME) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


# Two traces of torch.profiler side by side: what a step of the second takes longer or less, and where.
_MOST = 15
_LONGEST_NAME = 48  # characters


@dataclass(frozen=True, slots=True)
class TimeChange:
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
    step: TimeChange
    parts: tuple[TimeChange, ...]
    ops: tuple[TimeChange, ...]  # by their own time, of the device where both have one; the largest change first
    kernels: tuple[TimeChange, ...]
    on_device: bool
    peak_bytes: dict[str, tuple[int, int]]


def difference(before: TraceReport, after: TraceReport) -> TraceDifference:
    parts = before.parts, after.parts
    on_device = before.device is not None and after.device is not None
    peaks = [each.memory.peak_bytes if each.memory is not None else {} for each in (before, after)]
    return TraceDifference(
        before.file,
        after.file,
        TimeChange("a step", before.step_s, after.step_s),
        tuple(
            TimeChange(name, parts[0].get(name, 0.0), parts[1].get(name, 0.0))
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


def _changes(before: _Times, after: _Times) -> tuple[TimeChange, ...]:
    none = (0.0, 0.0)
    names: Iterable[str] = dict.fromkeys([*before, *after])
    pairs = ((name, before.get(name, none), after.get(name, none)) for name in names)
    found = [TimeChange(name, one[0], other[0], one[1], other[1]) for name, one, other in pairs]
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
    ]
    for device, (before, after) in found.peak_bytes.items():
        peaks = f"{before / 1e6:,.4g} MB, then {after / 1e6:,.4g} MB"
        blocks.append(Text(one_line(f"Peak of the memory that torch had given out on {device}: {peaks}.")))
    return plain_text(Group(*blocks), WIDEST)


_HEADS = ("", "before", "after", "more", "calls before", "calls after")


def _opening(found: TraceDifference) -> str:
    """A step takes 12 ms after 10 ms: 20 % longer."""
    before, after = found.step.before_s, found.step.after_s
    change = after / max(before, 1e-12) - 1
    how = f"{abs(change):.1%} {'longer' if change > 0 else 'shorter'}" if abs(change) >= 0.001 else "as long"
    return f"A step takes {time_text(after)} in the second trace and {time_text(before)} in the first: {how}."


def _rows(changes: Iterable[TimeChange]) -> list[Cells]:
    shown = [each for each in changes if each.more_s or each.before_calls != each.after_calls]
    return [_row(each) for each in shown[:_MOST]]


def _row(each: TimeChange) -> Cells:
    sign = "+" if each.more_s >= 0 else "-"
    return (
        _cut(short_kernel(each.name), _LONGEST_NAME),
        time_text(each.before_s),
        time_text(each.after_s),
        f"{sign}{time_text(abs(each.more_s))}",
        f"{each.before_calls:.4g}",
        f"{each.after_calls:.4g}",
    )
