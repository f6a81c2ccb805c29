"""`torch_debugger.memory.snapshot()`: what is in memory now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FrameType

import torch

from torch_debugger.anatomy.frames import user_frame
from torch_debugger.anatomy.sources import is_user_file, place_at
from torch_debugger.dumps.allocator import Owner, read_allocator
from torch_debugger.dumps.frames import Lines
from torch_debugger.dumps.spots import Storage, spots_of
from torch_debugger.memory.snapshots import Snapshot
from torch_debugger.profiling.live_storages import Live, live_storages
from torch_debugger.profiling.storage_lines import StorageLines
from torch_debugger.records import DeviceMemory, MemorySnapshot
from torch_debugger.records.memory import ACTIVATIONS

# Of a device whose allocator tells of blocks that no tensor of Python's is in.
NOT_SEEN = "held by autograd or a library"
_ONLY_PYTHON = (
    "Told are the tensors that Python knows of. What autograd alone keeps for a backward, and the lines that "
    "made it all, are known inside of `with torch_debugger.memory.record():`."
)

active: list[StorageLines] = []  # the recordings that are on, the innermost last


def snapshot() -> Snapshot:
    """What is in memory now: storages by the line that made them, by module, by the name that holds them.

        with torch_debugger.memory.record():      # else lines are not known, only names and modules
            train(model)
            print(torch_debugger.memory.snapshot().stats())

    On CUDA it asks torch's own allocator, with its history where that is being recorded
    (`torch.cuda.memory._record_memory_history()` or `record()`). Nothing waits for the device and no tensor is
    kept alive. It takes about a tenth of a second: all objects of the garbage collector are looked at.
    """
    return taken(user_frame(2))


def taken(frame: FrameType | None) -> Snapshot:
    live = live_storages(frame)
    lines = active[-1] if active else None
    elsewhere = {key: each for key, each in live.items() if each.device.type != "cuda"}
    storages = list(_on_host(elsewhere, lines))
    parts = [_told_host(storages, recorded=lines is not None)] if storages or not _has_cuda() else []
    if _has_cuda():
        on_cuda = (each for each in live.values() if each.device.type == "cuda")
        owners = {(each.device.index or 0, each.address): _owner(each) for each in on_cuda}
        plain = torch.cuda.memory._snapshot()
        parts.insert(0, read_allocator(plain, owners, Lines(is_user_file), unowned=NOT_SEEN))
    return Snapshot(_together(parts))


def _has_cuda() -> bool:
    return torch.cuda.is_available() and torch.cuda.is_initialized()  # type: ignore[no-untyped-call]


def _on_host(live: dict[int, Live], lines: StorageLines | None) -> Iterator[Storage]:
    known = dict(lines.known) if lines is not None else {}
    for key, each in live.items():
        made = known.pop(key, None)
        module = each.place.module or (made.module if made else "") or None
        place = place_at(made.file, made.line, module) if made and made.file else each.place
        yield place, each.category, each.name, str(each.device), each.size
    for made in known.values():  # no Python object leads to them: autograd keeps them for the backward
        storage = made.storage()
        if storage is not None and made.file and storage.device.type != "cuda" and storage.nbytes():
            place = place_at(made.file, made.line, made.module or None)
            yield place, ACTIVATIONS, "", str(storage.device), storage.nbytes()


def _owner(each: Live) -> Owner:
    return Owner(each.category, each.name, each.place)


def _told_host(storages: list[Storage], *, recorded: bool) -> MemorySnapshot:
    used: dict[str, int] = {}
    for _, _, _, device, size in storages:
        used[device] = used.get(device, 0) + size
    return MemorySnapshot(
        source="recorded tensors" if recorded else "live tensors",
        devices=tuple(DeviceMemory(device, size, 0, 0) for device, size in sorted(used.items())),
        spots=spots_of(storages),
        at_peak=(),
        curve_bytes=(),
        notes=() if recorded else (_ONLY_PYTHON,),
    )


def _together(parts: Iterable[MemorySnapshot]) -> MemorySnapshot:
    """The device's part first: what it tells of the source holds for the whole."""
    first, *others = parts
    if not others:
        return first
    spots = [spot for part in (first, *others) for spot in part.spots]
    return MemorySnapshot(
        source=first.source,
        devices=tuple(device for part in (first, *others) for device in part.devices),
        spots=tuple(sorted(spots, key=lambda each: -each.size_bytes)),
        at_peak=first.at_peak,
        curve_bytes=first.curve_bytes,
        notes=first.notes,
    )
