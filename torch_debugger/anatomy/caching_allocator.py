"""torch's allocator of GPU memory, played through: which block each tensor would get, and what that adds up to.

The rules and sizes are those of its CUDA caching allocator with default settings: a freed block is kept and
given to the next tensor that fits, whole where it is hardly larger than needed.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

ROUNDED = 512  # every block is a multiple of this
_SMALL = 2**20  # up to here blocks come from small segments
_SMALL_SEGMENT = 2 * 2**20
_MEDIUM = 10 * 2**20  # up to here several blocks share a segment
_MEDIUM_SEGMENT = 20 * 2**20
_LARGE_ROUNDED = 2 * 2**20


@dataclass(eq=False, slots=True)
class Block:
    """A stretch of memory, with the free or used stretches beside it in the same segment."""

    size: int
    address: int
    small: bool
    free: bool = True
    before: Block | None = None
    after: Block | None = None


class CachingAllocator:
    def __init__(self) -> None:
        self.allocated = 0  # bytes of blocks in use, as torch.cuda.memory_allocated() counts them
        self.reserved = 0  # bytes taken from the GPU, which are never given back
        self._free: dict[bool, list[tuple[int, int, Block]]] = {True: [], False: []}  # by size, then address

    def allocate(self, size: int) -> Block:
        size = rounded(size)
        block = self._best_fit(size) or self._new_segment(size)
        left = block.size - size
        if left >= ROUNDED if block.small else left > _SMALL:
            self._split(block, size)
        block.free = False
        self.allocated += block.size
        return block

    def release(self, block: Block) -> None:
        self.allocated -= block.size
        block.free = True
        for beside in (block.before, block.after):
            if beside is not None and beside.free:
                self._take(beside)
                block = _joined(block, beside)
        self._keep(block)

    def _best_fit(self, size: int) -> Block | None:
        kept = self._free[size <= _SMALL]
        at = bisect.bisect_left(kept, (size, -1))
        return kept.pop(at)[2] if at < len(kept) else None

    def _new_segment(self, size: int) -> Block:
        small = size <= _SMALL
        segment = _SMALL_SEGMENT if small else _MEDIUM_SEGMENT if size < _MEDIUM else _up(size, _LARGE_ROUNDED)
        block = Block(segment, self.reserved, small)
        self.reserved += segment
        return block

    def _split(self, block: Block, size: int) -> None:
        rest = Block(block.size - size, block.address + size, block.small, True, block, block.after)
        if block.after is not None:
            block.after.before = rest
        block.size, block.after = size, rest
        self._keep(rest)

    def _keep(self, block: Block) -> None:
        bisect.insort(self._free[block.small], (block.size, block.address, block))

    def _take(self, block: Block) -> None:
        kept = self._free[block.small]
        del kept[bisect.bisect_left(kept, (block.size, block.address))]


def rounded(size: int) -> int:
    return _up(max(size, 1), ROUNDED)


def _up(size: int, step: int) -> int:
    return -(-size // step) * step


def _joined(one: Block, other: Block) -> Block:
    first, second = (one, other) if one.address < other.address else (other, one)
    first.size += second.size
    first.after = second.after
    if second.after is not None:
        second.after.before = first
    return first
