"""Memory in words: what a forward pass made, and what the process holds."""

from __future__ import annotations

from collections.abc import Sequence

from torch_debugger.records import FlowFact, FlowStep, MemoryFact, MemoryLook
from torch_debugger.records.memory import ACTIVATIONS, BEFORE_BACKWARD, KEPT, VARIABLES
from torch_debugger.records.units import bytes_text

_WORTH_A_LINE = 100_000_000  # bytes; nobody runs out of less
_PARTS, _MODULES = 4, 3


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


def fullest_sentence(look: MemoryLook) -> str:
    """2.1 GB on cuda:0 before the backward of step 12: activations 1.4 GB (most by net.stem 0.3 GB), ..."""
    moment = "before the backward" if look.moment == BEFORE_BACKWARD else "after the update"
    return f"{bytes_text(look.used_bytes)} on {look.device} {moment} of step {look.step}: {made_of(look)}"


def made_of(look: MemoryLook) -> str:
    """Its largest parts, with the modules and variables that they belong to."""
    parts = sorted(look.parts.items(), key=lambda part: -part[1])
    told = [f"{name} {bytes_text(size)}{_whose(name, look)}" for name, size in parts[:_PARTS] if size]
    return ", ".join(told)


def _whose(category: str, look: MemoryLook) -> str:
    if category == ACTIVATIONS:
        named = [(each.path or "outside of modules", each.size_bytes) for each in look.modules]
    elif category in (KEPT, VARIABLES):
        named = [(each.name, each.size_bytes) for each in look.variables if each.grown == (category == KEPT)]
    else:
        named = []
    told = ", ".join(f"{name} {bytes_text(size)}" for name, size in named[:_MODULES])
    return f" ({told})" if told else ""


def peak_line(look: MemoryLook) -> str:
    """For the end of a report; empty where it is not worth a line."""
    return peak_sentence(look) if max(look.used_bytes, look.peak_bytes) >= _WORTH_A_LINE else ""


def peak_sentence(look: MemoryLook) -> str:
    """Of the fullest look at a device: what it was made of, and how much higher it was between two looks."""
    within = look.peak_bytes - look.used_bytes
    if within <= 0:
        return f"at most {fullest_sentence(look)}"
    return (
        f"peak {bytes_text(look.peak_bytes)}, {bytes_text(within)} of it for a moment within a step; "
        f"{fullest_sentence(look)}"
    )
