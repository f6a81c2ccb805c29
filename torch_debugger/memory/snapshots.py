"""A memory snapshot by its file: JSON of ours, or a pickle of PyTorch's, which a process of its own reads.

A pickle can hold more than it seems to: counts that ask for all memory there is, lists inside of themselves. So
it is read where that ends nothing but the reading: with limits of memory and time. Plain data comes back.
"""

from __future__ import annotations

import dataclasses
import json
import linecache
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from torch_debugger.records import DeviceMemory, MemorySnapshot, MemorySpot, Place
from torch_debugger.records.codec import from_plain, to_plain
from torch_debugger.records.performance import BUFFERS, GRADIENTS, PARAMETERS
from torch_debugger.records.units import bytes_text
from torch_debugger.report.tables import MemoryTable, signed_bytes, tables_html, tables_text
from torch_debugger.report.text import shown_path
from torch_debugger.system.errors import UsageError
from torch_debugger.system.tracebacks import is_user_path, plain_path

FORMAT = "torch-debugger memory snapshot"
VERSION = 1
EXPECTED = "a file of torch.cuda.memory._dump_snapshot(), or of save() of torch_debugger.memory.snapshot()"

_LARGEST_BYTES = 4_000_000_000
_LARGEST_JSON_BYTES = 20_000_000  # ours have a few; read, they take 25 times as much memory
_LIMIT_S = 300
# The folder it is called in has no say in what is imported: it came with the file, perhaps.
_READS = """import sys
sys.path[:] = [*filter(None, sys.path), sys.argv.pop(1)]
from torch_debugger.memory.snapshot_pickles import main
main()"""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def open_snapshot(path: str | os.PathLike[str]) -> MemorySnapshot:
    """UsageError, with a sentence, for whatever is no snapshot."""
    file = os.fspath(path)
    try:
        found = os.stat(file)
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no plain file"
            raise UsageError(f"{file} is {kind}. Expected is {EXPECTED}.")
        size = found.st_size
        with open(file, "rb") as opened:
            start = opened.read(64)
    except FileNotFoundError:
        raise UsageError(f"There is no file {file} (looked in {os.getcwd()}).") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from error
    is_json = start.lstrip()[:1] == b"{"
    _require_size(file, size, _LARGEST_JSON_BYTES if is_json else _LARGEST_BYTES)
    if is_json:
        with open(file, encoding="utf-8", errors="replace") as text:
            return snapshot_from_json(text.read(_LARGEST_JSON_BYTES), file)
    if start.startswith(b"PK"):
        raise UsageError(
            f"{file} is a zip, as torch.save writes. Expected is {EXPECTED}: write the snapshot with that."
        )
    if start.startswith(b"\x1f\x8b"):
        raise UsageError(f"{file} is packed with gzip. Unpack it first: gunzip {file}")
    # A pickle of protocol 2 or newer begins with its number; torch writes no older ones.
    if len(start) < 2 or start[0] != 0x80 or not 2 <= start[1] <= 5:
        raise UsageError(f"{file} is no pickle and no JSON. Expected is {EXPECTED}.")
    return _from_pickle(file)


def snapshot_from_json(text: str, what: str) -> MemorySnapshot:
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{what} is damaged JSON ({error}). Write it again with save().") from error
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise UsageError(f"{what} is JSON, but no memory snapshot. Expected is {EXPECTED}.")
    if plain.get("version") != VERSION:
        raise UsageError(
            f"{what} has version {plain.get('version')!r} and this torch-debugger reads {VERSION}: "
            "open it with the one that wrote it, or a newer one."
        )
    try:
        record = from_plain("MemorySnapshot", plain.get("snapshot"))
    except (TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"{what} is damaged: {error}. Write it again with save().") from error
    assert isinstance(record, MemorySnapshot)
    return record


def snapshot_to_json(snapshot: MemorySnapshot) -> str:
    return json.dumps({"format": FORMAT, "version": VERSION, "snapshot": to_plain(snapshot)}, indent=1)


def _require_size(file: str, size: int, largest: int) -> None:
    if not size:
        raise UsageError(f"{file} is empty. Expected is {EXPECTED}.")
    if size > largest:
        raise UsageError(
            f"{file} has {bytes_text(size)}; up to {bytes_text(largest)} of such a file are read. Record less: "
            "torch.cuda.memory._record_memory_history(max_entries=100_000)."
        )


def _from_pickle(file: str) -> MemorySnapshot:
    """In a process of its own."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _READS, _PACKAGE, os.path.abspath(file)],
            cwd=os.sep,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"Reading {file} took more than {_LIMIT_S} s and was given up.") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:  # it was ended: by a limit, or by the system
        answer = {}
    answer = answer if isinstance(answer, dict) else {}
    if "text" in answer:
        _require_size(file, len(answer["text"]), _LARGEST_JSON_BYTES)
        return snapshot_from_json(answer["text"], file)
    reason = answer.get("reason") or (
        "reading it takes more memory or time than a snapshot does, or its end is missing"
    )
    raise UsageError(f"{file} was not opened: {reason}. Expected is {EXPECTED}. Nothing in it was run.")


# What torch's CUDA allocator tells of itself (`torch.cuda.memory._snapshot()`), live or from a file.
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
class MemoryBlock:
    device: int
    address: int
    size: int
    place: Place


def read_allocator(
    plain: Any, owners: Owners | None = None, lines: StackLines | None = None, unowned: str = ALLOCATED
) -> MemorySnapshot:
    """From the dictionary of `_snapshot()`, or from the list of `torch.cuda.memory_snapshot()`."""
    lines = lines or StackLines()
    if type(plain) is dict and "segments" not in plain:
        keys = ", ".join(str(key)[:40] for key in list(plain)[:5]) or "nothing"
        raise NotASnapshotError(f"it is a dictionary without `segments`; in it are: {keys}")
    if type(plain) not in (dict, list):
        raise NotASnapshotError(f"it holds a value of type {type(plain).__name__} and no dictionary")
    listed, traces = (plain["segments"], plain.get("device_traces")) if type(plain) is dict else (plain, None)
    segments = [as_dict(each, "segments") for each in as_list(listed, "segments")]
    blocks = list(_blocks(segments, lines))
    histories = {
        device: replayed(trace, [block for block in blocks if block.device == device], lines)
        for device, each in enumerate(as_list(traces or [], "device traces"))
        if (trace := as_list(each, "device traces"))
    }
    storages = []
    for block in blocks:
        owner = (owners or {}).get((block.device, block.address)) or Owner(unowned, "", Place())
        known = block.place or owner.place
        place = Place(known.file, known.line, owner.place.module, known.code)
        storages.append((place, owner.category, owner.name, f"cuda:{block.device}", block.size))
    # The device that had the most in use: it is the one that runs out.
    highest = max(histories.values(), key=lambda each: each.peak_bytes, default=History(0, (), ()))
    used = sum(block.size for block in blocks)
    without = sum(block.size for block in blocks if not block.place)
    share = f"{100 * without / max(used, 1):.0f} % of the memory in use"
    return MemorySnapshot(
        source="allocator history" if histories else "allocator",
        devices=tuple(_devices(segments, blocks, histories)),
        spots=spots_of(storages),
        at_peak=highest.spots,
        curve_bytes=highest.curve_bytes,
        notes=(NO_LINES.format(share=share),) if without > used // 100 else (),
    )


def _blocks(segments: list[dict[Any, Any]], lines: StackLines) -> Iterator[MemoryBlock]:
    for segment in segments:
        if "blocks" not in segment or "total_size" not in segment:
            raise NotASnapshotError("a segment in it has no `blocks` or no `total_size`")
        device, address = as_count(segment.get("device")), as_count(segment.get("address"))
        for each in as_list(segment["blocks"], "blocks"):
            block = as_dict(each, "blocks")
            size = as_count(block.get("size"))
            if block.get("state") == _IN_USE:
                own, frames, history = (
                    as_count(block.get("address")) or address,
                    block.get("frames"),
                    block.get("history"),
                )
                if "frames" not in block and type(history) is list and history and type(history[0]) is dict:
                    frames = history[0].get("frames")  # where snapshots before torch 2.1 keep them
                yield MemoryBlock(device, own, size, lines.place_in(frames))
            address += size


def _devices(
    segments: list[dict[Any, Any]], blocks: list[MemoryBlock], histories: Mapping[int, History]
) -> Iterator[DeviceMemory]:
    reserved: dict[int, int] = {}
    for segment in segments:
        device = as_count(segment.get("device"))
        reserved[device] = reserved.get(device, 0) + as_count(segment.get("total_size"))
    for device in sorted({*reserved, *histories}):
        used = sum(block.size for block in blocks if block.device == device)
        peak = histories[device].peak_bytes if device in histories else 0
        yield DeviceMemory(f"cuda:{device}", used, reserved.get(device, 0), peak)


# The allocator's history of one device played once more: how much was in use, and whose at the peak.
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


def replayed(trace: Sequence[Any], blocks: Sequence[MemoryBlock], lines: StackLines) -> History:
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
        (lines.place_in(frames) if frames else place, "allocated", "", device, size) for frames, place, size in at_peak
    ]
    return History(peak, spots_of(storages), _thinned(curve))


def _changes(trace: Sequence[Any]) -> list[_Change]:
    """A free is told when it is asked for and when it is done: the first of the two counts."""
    found: list[_Change] = []
    requested: set[int] = set()
    for each in trace:
        entry = each if type(each) is dict else {}
        action, address, size = entry.get("action"), as_count(entry.get("addr")), as_count(entry.get("size"))
        rounded = -(-size // _ROUNDING_BYTES) * _ROUNDING_BYTES
        if action == "alloc":
            requested.discard(address)
            found.append(_Change(address, rounded, entry.get("frames")))
        elif action in ("free_requested", "free_completed") and address not in requested:
            found.append(_Change(address, -rounded, None))
        if action == "free_requested":
            requested.add(address)
        elif action == "free_completed":
            requested.discard(address)
    return found


def _alive_after(
    first: Sequence[_Change], all_changes: Sequence[_Change], blocks: Sequence[MemoryBlock]
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


# The line of the user's in a stack that torch's allocator has kept.
_DEEPEST = 500  # frames of one stack
_LONGEST_PATH = 4096
_LARGEST_SOURCE_BYTES = 4_000_000


class StackLines:
    """Each stack is looked through once: torch writes the same few thousand down again and again."""

    def __init__(self, is_users: Callable[[str], bool] = is_user_path) -> None:
        self._is_users = is_users
        self._known: dict[tuple[str, int], Place] = {}

    def place_in(self, frames: Any) -> Place:
        """Of the innermost frame that is the user's; empty where there is none, as on the thread on which a
        GPU's backward runs."""
        for frame in islice(frames if type(frames) is list else (), _DEEPEST):
            if type(frame) is dict:
                file, line = as_text(frame.get("filename")), as_count(frame.get("line"))
                # Not C++, which torch writes down as well if it is asked to.
                is_python = file.endswith(".py") or file.startswith("<ipython-input-")
                if line and len(file) < _LONGEST_PATH and is_python and self._is_users(plain_path(file)):
                    if (file, line) not in self._known:
                        self._known[file, line] = Place(file, line, None, source_line(file, line))
                    return self._known[file, line]
        return Place()


def source_line(file: str, line: int) -> str | None:
    """As it stands in that file now, if the file is on this machine."""
    try:
        if not os.path.isfile(file) or os.path.getsize(file) > _LARGEST_SOURCE_BYTES:
            return None
    except (OSError, ValueError):  # ValueError: a null character in the path
        return None
    return linecache.getline(file, line).strip() or None


# Storages put together into spots: those that one line made, of one kind, under one name.
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
    rest: dict[tuple[str, str], tuple[int, int]] = {}
    for spot in found[_MOST:]:
        total, count = rest.get((spot.category, spot.device), (0, 0))
        rest[spot.category, spot.device] = total + spot.size_bytes, count + spot.count
    together = [MemorySpot(Place(), kind, OTHERS, device, *each) for (kind, device), each in rest.items()]
    return (*found[:_MOST], *together)


# Values of a file that anybody may have written: taken only as what they must be.
class NotASnapshotError(UsageError):
    """The file is plain data, but not of this form; its text says what came instead."""


def as_list(value: Any, what: str) -> list[Any]:
    if type(value) is not list:
        raise NotASnapshotError(f"its {what} should be a list and are of type {type(value).__name__}")
    return value


def as_dict(value: Any, what: str) -> dict[Any, Any]:
    if type(value) is not dict:
        raise NotASnapshotError(f"its {what} should be dictionaries, and one is of type {type(value).__name__}")
    return value


def as_count(value: Any) -> int:
    """A number of bytes, an address or a line; 0 for what is none."""
    return value if type(value) is int and 0 < value < 2**63 else 0


def as_text(value: Any) -> str:
    return value if type(value) is str else ""


# A memory snapshot as an object: shown, kept as JSON, read again, compared. No torch is needed.
_MOST_DEVICES = 16  # told in a title
_SOURCES = {
    "live tensors": "the tensors that Python knows of",
    "recorded tensors": "all storages made while memory.record() was on, and the tensors that Python knows of",
    "allocator history": "torch's CUDA allocator and its history",
    "allocator": "torch's CUDA allocator, which had recorded no history",
}


class Snapshot:
    """What was in memory at one moment.

    snap = torch_debugger.memory.snapshot()
    print(snap.stats())            # hot spots by line, by module, by name; totals by category
    snap.save("memory.json")       # torch_debugger.memory.load("memory.json") reads it again
    print(later - snap)            # what grew in between
    """

    def __init__(self, fact: MemorySnapshot) -> None:
        self.fact = fact

    @property
    def spots(self) -> tuple[MemorySpot, ...]:
        """Storages that one line made, of one kind, under one name; the largest first."""
        return self.fact.spots

    @property
    def total_bytes(self) -> int:
        return sum(spot.size_bytes for spot in self.spots)

    def stats(self) -> Stats:
        """Where the memory is; `print` shows it."""
        peaks = by_line(self.fact.at_peak)
        return Stats(
            title=self._title(),
            total_bytes=self.total_bytes,
            by_line=_if_any_line(by_line(self.spots)),
            by_module=by_module(self.spots),
            by_name=by_name(self.spots),
            by_category=by_category(self.spots),
            at_peak=_if_any_line(peaks),
            notes=self.fact.notes,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """As JSON."""
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(snapshot_to_json(self.fact) + "\n")
        except OSError as error:
            raise UsageError(f"{os.fspath(path)} cannot be written: {error.strerror}.") from error

    def to_dict(self) -> dict[str, Any]:
        return to_plain(self.fact)

    def __sub__(self, before: Snapshot) -> Growth:
        return compare(before, self)

    def __str__(self) -> str:
        return str(self.stats())

    def _repr_html_(self) -> str:
        return self.stats()._repr_html_()

    def __repr__(self) -> str:
        return f"<memory snapshot: {bytes_text(self.total_bytes)} in {len(self.spots):,} spots>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self.fact == other.fact

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """`pickle.dump(snap, file)` keeps a text: `load` opens that too, and unpickles nothing but the text."""
        return from_json, (snapshot_to_json(self.fact),)

    def _title(self) -> str:
        parts = []
        for each in self.fact.devices[:_MOST_DEVICES]:
            beside = [f"{bytes_text(each.reserved_bytes)} reserved"] if each.reserved_bytes else []
            beside += [f"{bytes_text(each.peak_bytes)} at the peak"] if each.peak_bytes else []
            about = f" ({', '.join(beside)})" if beside else ""
            parts.append(f"{bytes_text(each.used_bytes)} on {each.device}{about}")
        source = _SOURCES.get(self.fact.source, self.fact.source)
        return f"Memory in use: {', '.join(parts) or 'nothing'}. Told by {source}."


def from_json(text: str) -> Snapshot:
    return Snapshot(snapshot_from_json(text, "The pickled snapshot"))


def load(path: str | os.PathLike[str] | dict[str, Any] | list[Any]) -> Snapshot:
    """A file of `save`, or a pickle of `torch.cuda.memory._dump_snapshot`, of which nothing is run; also what
    `torch.cuda.memory._snapshot()` and `torch.cuda.memory_snapshot()` return."""
    if isinstance(path, dict | list):
        return Snapshot(read_allocator(path))
    return Snapshot(open_snapshot(path))


def compare(before: Snapshot, after: Snapshot) -> Growth:
    """What grew and what shrank in between, by line and by name; the largest change first."""
    return Growth.between(before.spots, after.spots)


def _if_any_line(hot: tuple[Hot, ...]) -> tuple[Hot, ...]:
    """A table whose only row is the one without a line says nothing."""
    return hot if any(each.what != NOWHERE for each in hot) else ()


# What grew between two snapshots, and what shrank.
@dataclass(frozen=True, slots=True)
class Growth:
    """Differences: `size_bytes` and `count` of a row may be negative. What stayed is left out."""

    total_bytes: int
    by_line: tuple[Hot, ...]
    by_module: tuple[Hot, ...]
    by_name: tuple[Hot, ...]
    by_category: tuple[Hot, ...]

    @staticmethod
    def between(before: Iterable[MemorySpot], after: Iterable[MemorySpot]) -> Growth:
        first, last = tuple(before), tuple(after)
        return Growth(
            sum(spot.size_bytes for spot in last) - sum(spot.size_bytes for spot in first),
            *(_differences(added, first, last) for added in (by_line, by_module, by_name, by_category)),
        )

    def to_dict(self) -> dict[str, object]:
        return dataclasses.asdict(self)

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.by_category or self.by_name or self.by_line)

    def __str__(self) -> str:
        return tables_text(self._title(), _tables(self), ())

    def _repr_html_(self) -> str:
        return tables_html(self._title(), _tables(self), ())

    def _title(self) -> str:
        if not self:
            return "Nothing grew and nothing shrank."
        verb = "grew" if self.total_bytes >= 0 else "shrank"
        return f"Memory {verb} by {signed_bytes(abs(self.total_bytes))}."


def _differences(
    added: Callable[[Iterable[MemorySpot]], tuple[Hot, ...]],
    before: Iterable[MemorySpot],
    after: Iterable[MemorySpot],
) -> tuple[Hot, ...]:
    first, last = ({each.what: each for each in added(spots)} for spots in (before, after))
    found = []
    for what in {**first, **last}:
        old, new = first.get(what, Hot(what, 0, 0, "")), last.get(what, Hot(what, 0, 0, ""))
        if (old.size_bytes, old.count) != (new.size_bytes, new.count):
            size, count = new.size_bytes - old.size_bytes, new.count - old.count
            found.append(Hot(what, size, count, new.beside or old.beside))
    return tuple(sorted(found, key=lambda each: (-abs(each.size_bytes), each.what)))


# Spots added up: by line, by module, by name, by category.
NOWHERE = "line not known"
_OF_MODULES = (PARAMETERS, GRADIENTS, BUFFERS)


@dataclass(frozen=True, slots=True)
class Hot:
    """One line, module, name or category, and what it holds."""

    what: str  # train.py:31 | net.fc1 | losses | parameters
    size_bytes: int
    count: int
    beside: str  # the code of a line, the names that hold what it made


@dataclass(frozen=True, slots=True)
class Stats:
    """`print` shows it as tables; the tuples hold the same as numbers, the largest first."""

    title: str
    total_bytes: int
    by_line: tuple[Hot, ...]
    by_module: tuple[Hot, ...]
    by_name: tuple[Hot, ...]
    by_category: tuple[Hot, ...]
    at_peak: tuple[Hot, ...] = ()  # by line, at the highest moment of a history
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return tables_text(self.title, _tables(self), self.notes)

    def _repr_html_(self) -> str:
        return tables_html(self.title, _tables(self), self.notes)


_TITLES = {
    "by_line": "by line",
    "at_peak": "by line, at the peak",
    "by_module": "by module",
    "by_name": "by name",
    "by_category": "by category",
}


def _tables(shown: Stats | Growth) -> list[MemoryTable]:
    found = [(title, getattr(shown, name, ())) for name, title in _TITLES.items()]
    return [
        (title, [(each.size_bytes, each.count, each.what, each.beside) for each in rows])
        for title, rows in found
        if rows
    ]


def by_line(spots: Iterable[MemorySpot]) -> tuple[Hot, ...]:
    """What no line is known for is one row, so that the sum is the whole."""

    def line(spot: MemorySpot) -> str:
        place = spot.place
        return f"{shown_path(place.file, os.getcwd())}:{place.line}" if place.file else NOWHERE

    return _added(spots, line, lambda spot: (spot.place.code or "", spot.name and f"[{spot.name}]"))


def by_module(spots: Iterable[MemorySpot]) -> tuple[Hot, ...]:
    inside = [spot for spot in spots if spot.place.module]
    return _added(inside, lambda spot: spot.place.module or "", lambda spot: (spot.category,))


def by_name(spots: Iterable[MemorySpot]) -> tuple[Hot, ...]:
    """Parameters and their gradients stand by module already."""
    named = [spot for spot in spots if spot.name and spot.category not in _OF_MODULES]
    return _added(named, lambda spot: spot.name, lambda spot: (spot.category,))


def by_category(spots: Iterable[MemorySpot]) -> tuple[Hot, ...]:
    return _added(spots, lambda spot: spot.category, lambda spot: ())


def _added(
    spots: Iterable[MemorySpot],
    key: Callable[[MemorySpot], str],
    beside: Callable[[MemorySpot], tuple[str, ...]],
) -> tuple[Hot, ...]:
    sums: dict[str, list[MemorySpot]] = {}
    for spot in spots:
        sums.setdefault(key(spot), []).append(spot)
    found = []
    for what, same in sums.items():
        # Each word once, those of the largest spots first, the first four of each kind.
        columns = zip(*map(beside, sorted(same, key=lambda each: -each.size_bytes)), strict=True)
        words = " ".join(", ".join(list(dict.fromkeys(filter(None, column)))[:4]) for column in columns).strip()
        found.append(Hot(what, sum(each.size_bytes for each in same), sum(each.count for each in same), words))
    return tuple(sorted(found, key=lambda each: (-each.size_bytes, each.what)))
