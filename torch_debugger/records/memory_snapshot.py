"""What is in memory at one moment, and which lines, modules and variables it belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class MemorySpot:
    """Storages that belong together: made by one line, of one kind, held by one name."""

    place: Place  # the line that made them, as far as it is known, and the module that ran or holds them
    category: str  # one of the words above; of a block that nobody knows, "allocated" and the like
    name: str  # of the variable, list or parameter that holds them; empty where no name leads to them
    device: str  # cpu, cuda:0
    size_bytes: int
    count: int  # storages, each counted once however many views it has


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    device: str
    used_bytes: int  # by storages that live
    reserved_bytes: int  # taken from the device, with what lies free in torch's cache; 0 where nobody knows
    peak_bytes: int  # the most that was used at once in what was recorded; 0 where nothing was


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    source: str  # live tensors | recorded tensors | allocator history | allocator
    devices: tuple[DeviceMemory, ...]
    spots: tuple[MemorySpot, ...]  # the largest first
    at_peak: tuple[MemorySpot, ...]  # the same for the moment of the peak; empty without a history
    curve_bytes: tuple[int, ...]  # used over the history, thinned, its peak kept
    notes: tuple[str, ...]  # what could not be told, and why


@dataclass(frozen=True, slots=True)
class TracedMemory:
    """What torch's allocators had given out over the time of a profiler's trace, thinned, peaks kept."""

    moments_ms: tuple[float, ...]
    used_bytes: dict[str, tuple[int, ...]]  # by device, one number a moment
    peak_bytes: dict[str, int]
