"""Storages put together into spots: those that one line made, of one kind, under one name."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.records import MemorySpot, Place

_MOST = 2000  # spots that are kept; the smallest are put together

Storage = tuple[Place, str, str, str, int]  # place, category, name, device, bytes
OTHERS = "many small ones"


def spots_of(storages: Iterable[Storage]) -> tuple[MemorySpot, ...]:
    sums: dict[tuple[Place, str, str, str], tuple[int, int]] = {}
    for place, category, name, device, size in storages:
        key = (place, category, name, device)
        total, count = sums.get(key, (0, 0))
        sums[key] = total + size, count + 1
    found = [MemorySpot(*key, size_bytes=total, count=count) for key, (total, count) in sums.items()]
    found.sort(key=lambda each: -each.size_bytes)
    return (*found[:_MOST], *_together(found[_MOST:]))


def _together(rest: list[MemorySpot]) -> list[MemorySpot]:
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for spot in rest:
        total, count = sums.get((spot.category, spot.device), (0, 0))
        sums[spot.category, spot.device] = total + spot.size_bytes, count + spot.count
    return [MemorySpot(Place(), kind, OTHERS, device, *each) for (kind, device), each in sums.items()]
