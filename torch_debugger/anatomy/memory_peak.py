"""The peak of a step's memory: a tape of its storages played through torch's allocator of GPU memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from torch_debugger.anatomy.caching_allocator import Block, CachingAllocator
from torch_debugger.anatomy.storage_tape import Held, Site
from torch_debugger.records.memory import ACTIVATIONS


@dataclass(frozen=True)
class MemoryPeak:
    peak_bytes: int  # as torch.cuda.max_memory_allocated() would say
    reserved_bytes: int  # as torch.cuda.max_memory_reserved() would say
    by_category: dict[str, int]  # at the peak; together they are the peak
    kept_by_module: dict[str, int]  # of the activations among them, largest first
    site: Site  # what was made when the peak was reached


def find_peak(events: Sequence[tuple[Held, bool]]) -> MemoryPeak:
    allocator, blocks = CachingAllocator(), dict[Held, Block]()
    peak, at = 0, -1
    for number, (held, made) in enumerate(events):
        if made:
            blocks[held] = allocator.allocate(held.size)
        else:
            allocator.release(blocks.pop(held))
        if allocator.allocated > peak:
            peak, at = allocator.allocated, number
    return _described(events, at, allocator.reserved)


def _described(events: Sequence[tuple[Held, bool]], at: int, reserved: int) -> MemoryPeak:
    """Played once more as far as the peak: what was in use then, for what it turned out to be for."""
    allocator, blocks = CachingAllocator(), dict[Held, Block]()
    for held, made in events[: at + 1]:
        if made:
            blocks[held] = allocator.allocate(held.size)
        else:
            allocator.release(blocks.pop(held))
    categories, modules = Counter[str](), Counter[str]()
    for held, block in blocks.items():
        categories[held.category] += block.size
        if held.category == ACTIVATIONS:
            modules[held.kept_by] += block.size
    site = events[at][0].site if events else Site()
    return MemoryPeak(allocator.allocated, reserved, dict(categories), dict(modules.most_common()), site)
