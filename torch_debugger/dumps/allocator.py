"""What torch's CUDA allocator tells of itself (`torch.cuda.memory._snapshot()`), live or from a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torch_debugger.dumps.frames import Lines
from torch_debugger.dumps.history import History, replayed
from torch_debugger.dumps.plain_values import NotASnapshotError, as_count, as_dict, as_list
from torch_debugger.dumps.spots import Storage, spots_of
from torch_debugger.records import DeviceMemory, MemorySnapshot, Place

_IN_USE = "active_allocated"
ALLOCATED = "allocated"  # the category of what nobody can tell more of
NO_LINES = (
    "No line is known for {share}: it was allocated while no history was recorded, or by the backward on a "
    "thread without Python. Record from the start: `with torch_debugger.memory.record():` or "
    "`torch.cuda.memory._record_memory_history()`."
)


@dataclass(frozen=True, slots=True)
class Owner:
    """What the process itself knows of a block: live snapshots have this, files do not."""

    category: str
    name: str
    place: Place  # of a parameter: the line that builds its layer


Owners = Mapping[tuple[int, int], Owner]  # by device and address


@dataclass(frozen=True, slots=True)
class Block:
    device: int
    address: int
    size: int
    place: Place


def read_allocator(
    plain: Any, owners: Owners | None = None, lines: Lines | None = None, unowned: str = ALLOCATED
) -> MemorySnapshot:
    """From the dictionary of `_snapshot()`, or from the list of `torch.cuda.memory_snapshot()`."""
    lines = lines or Lines()
    segments = [as_dict(each, "segments") for each in as_list(_segments(plain), "segments")]
    blocks = list(_blocks(segments, lines))
    histories = {
        device: replayed(trace, [block for block in blocks if block.device == device], lines)
        for device, trace in enumerate(_traces(plain))
        if trace
    }
    storages = [_storage(block, owners or {}, unowned) for block in blocks]
    source = "allocator history" if histories else "allocator"
    return MemorySnapshot(
        source=source,
        devices=tuple(_devices(segments, blocks, histories)),
        spots=spots_of(storages),
        at_peak=_highest(histories).spots,
        curve_bytes=_highest(histories).curve_bytes,
        notes=tuple(_notes(blocks)),
    )


def _segments(plain: Any) -> Any:
    if type(plain) is dict and "segments" not in plain:
        keys = ", ".join(str(key)[:40] for key in list(plain)[:5]) or "nothing"
        raise NotASnapshotError(f"it is a dictionary without `segments`; in it are: {keys}")
    if type(plain) not in (dict, list):
        raise NotASnapshotError(f"it holds a value of type {type(plain).__name__} and no dictionary")
    return plain["segments"] if type(plain) is dict else plain


def _traces(plain: Any) -> list[list[Any]]:
    traces = plain.get("device_traces") if type(plain) is dict else None
    return [as_list(each, "device traces") for each in as_list(traces or [], "device traces")]


def _blocks(segments: list[dict[Any, Any]], lines: Lines) -> Iterator[Block]:
    for segment in segments:
        if "blocks" not in segment or "total_size" not in segment:
            raise NotASnapshotError("a segment in it has no `blocks` or no `total_size`")
        device, address = as_count(segment.get("device")), as_count(segment.get("address"))
        for each in as_list(segment["blocks"], "blocks"):
            block = as_dict(each, "blocks")
            size = as_count(block.get("size"))
            if block.get("state") == _IN_USE:
                own = as_count(block.get("address")) or address
                yield Block(device, own, size, lines.place_in(_frames(block)))
            address += size


def _frames(block: dict[Any, Any]) -> Any:
    """Snapshots before torch 2.1 keep them with the history of the block."""
    history = block.get("history")
    if "frames" not in block and type(history) is list and history and type(history[0]) is dict:
        return history[0].get("frames")
    return block.get("frames")


def _storage(block: Block, owners: Owners, unowned: str) -> Storage:
    owner = owners.get((block.device, block.address)) or Owner(unowned, "", Place())
    known = block.place or owner.place
    place = Place(known.file, known.line, owner.place.module, known.code)
    return place, owner.category, owner.name, f"cuda:{block.device}", block.size


def _devices(
    segments: list[dict[Any, Any]], blocks: list[Block], histories: Mapping[int, History]
) -> Iterator[DeviceMemory]:
    reserved: dict[int, int] = {}
    for segment in segments:
        device = as_count(segment.get("device"))
        reserved[device] = reserved.get(device, 0) + as_count(segment.get("total_size"))
    for device in sorted({*reserved, *histories}):
        used = sum(block.size for block in blocks if block.device == device)
        peak = histories[device].peak_bytes if device in histories else 0
        yield DeviceMemory(f"cuda:{device}", used, reserved.get(device, 0), peak)


def _highest(histories: Mapping[int, History]) -> History:
    """The device that had the most in use: it is the one that runs out."""
    return max(histories.values(), key=lambda each: each.peak_bytes, default=History(0, (), ()))


def _notes(blocks: list[Block]) -> Iterator[str]:
    used = sum(block.size for block in blocks)
    without = sum(block.size for block in blocks if not block.place)
    if used and without > used // 100:
        yield NO_LINES.format(share=f"{100 * without / used:.0f} % of the memory in use")
