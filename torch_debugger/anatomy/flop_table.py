"""Counts as a table for people to read."""

from __future__ import annotations

from torch_debugger.anatomy.flop_count import Counts, FlopCount, ModuleCount
from torch_debugger.records.units import bytes_text

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")
_LONGEST_PATH = 44
_MOST_ROWS = 60


def number_text(value: float) -> str:
    """950, 12.3 k, 4.09 G"""
    place = 0
    while abs(value) >= 999.5 and place < len(_PREFIXES) - 1:
        value, place = value / 1000, place + 1
    return f"{value:.3g} {_PREFIXES[place]}" if place else f"{value:.4g}"


def _with_unit(value: float, unit: str) -> str:
    """4.09 GMACs, 950 MACs"""
    text = number_text(value)
    return f"{text}{unit}" if " " in text else f"{text} {unit}"


def flop_table(count: FlopCount, depth: int | None = None) -> str:
    rows = [_heading(count)] + [_row(each, count) for each in _shown(count, depth)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(_aligned(row, widths)).rstrip() for row in rows]
    return "\n".join([*_summary(count), "", *lines, *_left_out(count, depth), *_uncounted(count)])


def _summary(count: FlopCount) -> list[str]:
    lines = [f"{count.model}: {_both(count.forward)} forward (1 MAC = 2 FLOPs)"]
    if count.backward is not None:
        lines.append(f"  {_both(count.backward)} backward, {_both(count.total)} in all")
    if count.recomputed.macs:
        lines.append(f"  {_both(count.recomputed)} of the backward are forward computed again, for checkpoints")
    lines.append(
        f"  besides: {_with_unit(count.elementwise, 'FLOPs')} elementwise and in reductions; "
        f"{bytes_text(count.bytes)} read and written; {count.intensity:.3g} FLOPs a byte"
    )
    if (machine := count.machine) is not None:
        least = machine.least_seconds(count.flops + count.elementwise, count.bytes)
        speeds = f"{_with_unit(machine.peak_flops, 'FLOPs/s')}, {bytes_text(int(machine.bandwidth))}/s"
        ridge = f"compute-bound from {machine.ridge:.3g} FLOPs a byte"
        lines.append(f"  {machine.name}: {speeds}: {ridge}; at least {_time_text(least)}")
    return lines + ([f"  {count.note}"] if count.note else [])


def _both(counts: Counts) -> str:
    return f"{_with_unit(counts.macs, 'MACs')} = {_with_unit(counts.flops, 'FLOPs')}"


def _time_text(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} us" if seconds < 1e-3 else f"{seconds * 1e3:.4g} ms"


def _heading(count: FlopCount) -> list[str]:
    names = ["module", "class", "MACs", "FLOPs", "%"]
    names += ["backward MACs"] if count.backward is not None else []
    return [*names, "elementwise", "bytes", "FLOPs/byte", *(["limit"] if count.machine is not None else [])]


def _row(each: ModuleCount, count: FlopCount) -> list[str]:
    share = each.macs / count.macs if count.macs else 0.0
    cells = [_indented(each.path), each.module]
    cells += [number_text(each.forward.macs), number_text(each.forward.flops), f"{share:.1%}"]
    cells += [number_text(each.backward.macs)] if count.backward is not None else []
    cells += [number_text(each.elementwise), bytes_text(each.bytes), f"{each.intensity:.3g}"]
    return [*cells, *([each.bound] if count.machine is not None else [])]


def _indented(path: str) -> str:
    if not path:
        return "(model)"
    name = "  " * path.count(".") + "  " + path.rpartition(".")[2]
    return name if len(name) <= _LONGEST_PATH else f"{name[: _LONGEST_PATH - 3]}..."


def _aligned(row: list[str], widths: list[int]) -> list[str]:
    """Names to the left, numbers to the right."""
    return [
        f"{cell:<{width}}" if place < 2 else f"{cell:>{width}}"
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def _fitting(count: FlopCount, depth: int | None) -> list[ModuleCount]:
    deepest = float("inf") if depth is None else depth
    return [
        each
        for path, each in count.by_module.items()
        if (path.count(".") + 1 if path else 0) <= deepest and (each.calls or each.bytes or not path)
    ]


def _shown(count: FlopCount, depth: int | None) -> list[ModuleCount]:
    fitting = _fitting(count, depth)
    return fitting if depth is None else fitting[:_MOST_ROWS]


def _left_out(count: FlopCount, depth: int | None) -> list[str]:
    more = len(_fitting(count, depth)) - len(_shown(count, depth))
    return [f"... and {more} modules more: .table(depth=None) shows them all"] if more > 0 else []


def _uncounted(count: FlopCount) -> list[str]:
    if not count.uncounted:
        return []
    return ["", "not counted:", *(f"  {each}" for each in count.uncounted)]
