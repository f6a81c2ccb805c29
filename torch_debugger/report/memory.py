"""Memory in words: what a forward pass made, and what the process holds."""

from __future__ import annotations

from collections.abc import Sequence

from torch_debugger.records import FlowFact, FlowStep, MemoryFact
from torch_debugger.records.units import bytes_text


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


def _innermost(steps: Sequence[FlowStep]) -> list[FlowStep]:
    """The modules that ran no others: an output handed up the tree is counted once."""
    followers = [*steps[1:], None]
    return [
        step for step, next_ in zip(steps, followers, strict=True) if not next_ or next_.depth <= step.depth
    ]
