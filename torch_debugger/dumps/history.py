"""The allocator's history of one device played once more: how much was in use, and whose at the peak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from torch_debugger.dumps.frames import Lines
from torch_debugger.dumps.plain_values import as_count
from torch_debugger.dumps.spots import spots_of
from torch_debugger.records import MemorySpot, Place

if TYPE_CHECKING:
    from torch_debugger.dumps.allocator import Block

_ROUNDING_BYTES = 512  # the history tells what was asked for; the allocator gives multiples of this
_CURVE_POINTS = 400


@dataclass(frozen=True, slots=True)
class History:
    peak_bytes: int
    spots: tuple[MemorySpot, ...]
    curve_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Change:
    address: int
    size: int  # negative: freed
    frames: Any


def replayed(trace: Sequence[Any], blocks: Sequence[Block], lines: Lines) -> History:
    """`blocks` are those in use at its end."""
    changes = _changes(trace)
    used = sum(block.size for block in blocks) - sum(change.size for change in changes)
    curve, peak_at, peak = [used], 0, used
    for place, change in enumerate(changes, start=1):
        used += change.size
        curve.append(used)
        if used > peak:
            peak, peak_at = used, place
    device = f"cuda:{blocks[0].device}" if blocks else "cuda"
    at_peak = _alive_after(changes[:peak_at], changes, blocks)
    storages = [
        (lines.place_in(frames) if frames else place, "allocated", "", device, size)
        for frames, place, size in at_peak
    ]
    return History(peak, spots_of(storages), _thinned(curve))


def _changes(trace: Sequence[Any]) -> list[_Change]:
    """A free is told when it is asked for and when it is done: the first of the two counts."""
    found: list[_Change] = []
    asked: set[int] = set()
    for each in trace:
        entry = each if type(each) is dict else {}
        action, address, size = entry.get("action"), as_count(entry.get("addr")), as_count(entry.get("size"))
        rounded = -(-size // _ROUNDING_BYTES) * _ROUNDING_BYTES
        if action == "alloc":
            asked.discard(address)
            found.append(_Change(address, rounded, entry.get("frames")))
        elif action in ("free_requested", "free_completed") and address not in asked:
            found.append(_Change(address, -rounded, None))
        if action == "free_requested":
            asked.add(address)
        elif action == "free_completed":
            asked.discard(address)
    return found


def _alive_after(
    first: Sequence[_Change], all_changes: Sequence[_Change], blocks: Sequence[Block]
) -> list[tuple[Any, Place, int]]:
    """Frames, or a place that is known already, and bytes; what was there before the history began included."""
    made = {change.address for change in all_changes if change.size > 0}
    before = {block.address: (None, block.place, block.size) for block in blocks if block.address not in made}
    alive: dict[int, tuple[Any, Place, int]] = {}
    for change in all_changes:  # freed in it and made before it
        if change.size > 0:
            alive[change.address] = (change.frames, Place(), change.size)
        elif alive.pop(change.address, None) is None:
            before.setdefault(change.address, (None, Place(), -change.size))
    alive = dict(before)
    for change in first:
        if change.size > 0:
            alive[change.address] = (change.frames, Place(), change.size)
        else:
            alive.pop(change.address, None)
    return list(alive.values())


def _thinned(curve: Sequence[int]) -> tuple[int, ...]:
    """The highest of each stretch."""
    if len(curve) <= _CURVE_POINTS:
        return tuple(curve)
    edges = [len(curve) * part // _CURVE_POINTS for part in range(_CURVE_POINTS + 1)]
    return tuple(max(curve[start:end]) for start, end in pairwise(edges))
