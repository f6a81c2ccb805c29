"""Memory in words: what a forward pass made, and what the process holds."""

from __future__ import annotations

from collections.abc import Sequence

from torch_debugger.records import FlowFact, FlowStep, MemoryFact


def memory_sentence(flows: Sequence[FlowFact], memory: MemoryFact | None) -> str:
    """outputs of this forward pass 130 kB; process 256 MB now, 301 MB at most"""
    parts = []
    if flows:
        made = sum(step.made_bytes for flow in flows for step in _innermost(flow.steps))
        which = "this forward pass" if len(flows) == 1 else f"these {len(flows)} forward passes"
        parts.append(f"outputs of {which} {bytes_text(made)}")
    if memory is not None:
        parts.append(
            f"process {bytes_text(memory.resident_bytes)} now, {bytes_text(memory.peak_bytes)} at most"
        )
        if memory.device_peak_bytes:
            now, most = bytes_text(memory.device_bytes), bytes_text(memory.device_peak_bytes)
            parts.append(f"accelerator {now} now, {most} at most")
    return "; ".join(parts)


def bytes_text(size: int) -> str:
    """999 B, 1.5 kB, 256 MB"""
    if size < 1000:
        return f"{size} B"
    value, unit = size / 1000, "kB"
    for larger in ("MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit}"


def _innermost(steps: Sequence[FlowStep]) -> list[FlowStep]:
    """The modules that ran no others: an output handed up the tree is counted once."""
    followers = [*steps[1:], None]
    return [
        step for step, next_ in zip(steps, followers, strict=True) if not next_ or next_.depth <= step.depth
    ]
