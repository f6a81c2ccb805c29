"""What stands below the table of a summary."""

from __future__ import annotations

from typing import Protocol

from torch_debugger.anatomy.summing.rows import Own
from torch_debugger.anatomy.summing.seen import Seen, sizes_text
from torch_debugger.records.units import bytes_text

_STEPS = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))


class Totalled(Protocol):
    inputs: tuple[Seen, ...]
    ran: str

    @property
    def total(self) -> Own: ...


def total_lines(summary: Totalled) -> list[str]:
    total = summary.total
    lines = [
        f"Total params: {total.params:,} ({bytes_text(total.param_bytes)})",
        f"Trainable params: {total.trainable_params:,}",
        f"Non-trainable params: {total.params - total.trainable_params:,}",
    ]
    if summary.ran:
        lines += _run_lines(total, summary)
    return lines


def _run_lines(total: Own, summary: Totalled) -> list[str]:
    dtypes = ", ".join(dict.fromkeys(one.dtype for one in summary.inputs))
    lines = [f"Input: {sizes_text(summary.inputs)[0]} {dtypes}".rstrip()]
    if total.macs:
        lines.append(f"Total mult-adds: {short_count(total.macs)} ({short_count(2 * total.macs)} FLOPs)")
    lines.append(f"Outputs of all layers: {bytes_text(total.output_bytes)}")
    if total.seconds:
        lines.append(f"Forward: {total.seconds * 1e3:,.2f} ms")
    return lines


def short_count(count: float) -> str:
    """1.81 G, 950"""
    for letter, size in _STEPS:
        if count >= size:
            return f"{count / size:.3g} {letter}"
    return f"{count:g}"
