"""Finds the folders that hold event files. No log is opened: a name, a time and a size each."""

from __future__ import annotations

import os
import re
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from torch_debugger.log import media
from torch_debugger.log.decoder_values import FOREIGN, SCALARS, EventParser
from torch_debugger.log.event_files import MARK, event_file_state, writer_in
from torch_debugger.log.event_files import event_files as event_files
from torch_debugger.log.object_stores import fetch_new, is_url, list_files
from torch_debugger.log.reader_columns import EventFile
from torch_debugger.log.tfrecord import unframe
from torch_debugger.system.errors import DebuggerError

_EMPTY_BYTES = 1000  # the first events of a log, which say no more than whose it is


@dataclass(frozen=True, slots=True)
class FoundRun:
    name: str  # from the folder that was asked for
    folder: str
    changed: float  # the newest of its event files, seconds since the epoch
    size_bytes: int


def find_runs(root: str) -> list[FoundRun]:
    """Every folder below `root`, itself included, that holds an event file, by name. A folder to which links
    lead as well is one run, under its own name."""
    found: list[FoundRun] = []
    met: set[tuple[int, int]] = set()
    waiting: deque[str] = deque([root])
    while waiting:
        folder = waiting.pop()
        entries = _entries(folder, met)
        waiting.extend(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
        waiting.extendleft(entry.path for entry in entries if entry.is_symlink() and os.path.isdir(entry.path))
        files = [state for entry in entries if (state := event_file_state(entry)) is not None]
        if files:
            changed, size = max(each.st_mtime for each in files), sum(each.st_size for each in files)
            found.append(FoundRun(os.path.relpath(folder, root), folder, changed, size))
    return sorted(_folded(found), key=lambda run: run.name)


def _folded(found: list[FoundRun]) -> list[FoundRun]:
    """What `add_hparams` and `add_scalars` have put into folders of their own belongs to the run around it."""
    runs = {run.folder: run for run in found}
    for around in sorted(_with_runs_below(runs), key=lambda run: -len(run.folder)):  # the innermost first
        parts = [*hparam_folders(around.folder), *(each.folder for each in series_folders(around.folder))]
        inside = [runs.pop(folder) for folder in parts if folder in runs]
        changed = max((run.changed for run in inside), default=around.changed)
        runs[around.folder] = replace(around, changed=max(around.changed, changed))
        # A writer that did nothing but tell of several trials: its own log is empty.
        if not inside and around.size_bytes <= _EMPTY_BYTES and folders_of_hparams(around.folder):
            logs = [EventFile(path) for path in event_files(around.folder)]
            for log in logs:
                log.poll()
            if not any(log.columns.tags or log.items for log in logs):
                del runs[around.folder]
    return list(runs.values())


def _with_runs_below(runs: dict[str, FoundRun]) -> list[FoundRun]:
    around: dict[str, FoundRun] = {}
    for folder in runs:
        above = os.path.dirname(folder)
        while above and above not in around:
            if above in runs:
                around[above] = runs[above]
            if above == os.path.dirname(above):
                break
            above = os.path.dirname(above)
    return list(around.values())


def _entries(folder: str, met: set[tuple[int, int]]) -> list[os.DirEntry[str]]:
    try:
        state = os.stat(folder)
        if (state.st_dev, state.st_ino) in met:
            return []
        met.add((state.st_dev, state.st_ino))
        return list(os.scandir(folder))
    except OSError:
        return []


# Folders that `add_hparams` makes inside a run's: its settings and metrics, or trials that are runs each.
_TIMED = re.compile(r"\d{9,11}\.\d+")  # time.time(), which torch names it by unless a name is given
_LARGEST_BYTES, _LARGEST_NAMED_BYTES = 1_000_000, 64_000
_MOST_NAMED = 500  # folders with other names that are looked into: there may be ten thousand runs
_SAID = b"_hparams_/session_start_info"

_Settings = tuple[tuple[str, bool | float | str], ...]


def hparam_folders(run_folder: str) -> list[str]:
    """Those inside a run's folder that say its settings, the oldest first. A writer that calls `add_hparams`
    with several settings tells of trials: then none of them is the run's own."""
    said = folders_of_hparams(run_folder)
    return list(said) if len(set(said.values())) <= 1 else []


def folders_of_hparams(run_folder: str) -> dict[str, _Settings]:
    """All that `add_hparams` has made inside a run's folder, with the settings in each."""
    try:
        inside = [entry for entry in os.scandir(run_folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return {}
    timed = [entry.path for entry in inside if _TIMED.fullmatch(entry.name)]
    named = [entry.path for entry in inside if not _TIMED.fullmatch(entry.name)]
    folders = sorted(timed) + sorted(named)[:_MOST_NAMED]
    found = ((folder, _said_in(folder)) for folder in folders)
    return {folder: said for folder, said in found if said is not None}


def _said_in(folder: str) -> _Settings | None:
    """None for a folder that holds anything besides settings and one number of each metric a file."""
    largest = _LARGEST_BYTES if _TIMED.fullmatch(os.path.basename(folder)) else _LARGEST_NAMED_BYTES
    try:
        files = sorted((entry.path, entry.stat().st_size) for entry in os.scandir(folder))
    except OSError:
        return None
    if not files or any(MARK not in os.path.basename(path) or size > largest for path, size in files):
        return None
    said: dict[str, bool | float | str] = {}
    for path, size in files:
        settings = _read(path, size)
        if settings is None:
            return None
        said |= settings
    return tuple(sorted(said.items()))


@lru_cache(maxsize=16384)
def _read(path: str, size_bytes: int) -> _Settings | None:
    """The size is there so that a file that has grown is read again."""
    try:
        with open(path, "rb") as file:
            if _SAID not in file.read(size_bytes):
                return None
    except OSError:
        return None
    log = EventFile(path)
    log.poll()
    if any(len(log.columns.points(tag).steps) > 1 for tag in log.columns.tags):
        return None
    if any(item.kind != "hparams" for item in log.items):
        return None
    said: dict[str, bool | float | str] = {}
    for _, payload in log.payloads(log.items):
        with suppress(*FOREIGN):
            for value in EventParser().parse(payload).values:
                said |= media.hparams(value)
    return tuple(sorted(said.items()))


# Folders that `add_scalars` makes inside a run's: one for each series of a chart, with one tag in it.
#
# torch and our own writer call them TAG_SERIES, with slashes of the tag as underscores; tensorboardX TAG/SERIES.
_HEAD_BYTES = 8_000  # more than a hundred numbers
_MOST_FOLDERS = 500  # that are looked through: there may be ten thousand runs below


class Series(NamedTuple):
    folder: str
    chart: str  # the tag given to `add_scalars`
    name: str

    @property
    def tag(self) -> str:
        """What the run calls it, beside its other tags."""
        return f"{self.chart}/{self.name}"


def series_folders(run_folder: str) -> list[Series]:
    """By chart and name. A folder is one if its name begins with the only tag that is in it, and the process
    that wrote it wrote the run as well."""
    writers = {writer_in(os.path.basename(path)) for path in event_files(run_folder)}
    if not writers:
        return []
    found = (_series(run_folder, folder, files, writers) for folder, files in _logs_below(run_folder))
    return sorted((each for each in found if each is not None), key=lambda each: (each.chart, each.name))


def _series(run_folder: str, folder: str, files: list[str], writers: set[str]) -> Series | None:
    if any(writer_in(name) not in writers for name in files):
        return None
    paths = [os.path.join(folder, name) for name in files]
    tags = {_only_tag(path, min(os.path.getsize(path), _HEAD_BYTES)) for path in paths}
    tag = tags.pop() if len(tags) == 1 else None
    relative = os.path.relpath(folder, run_folder).replace(os.sep, "/")
    for start in (f"{tag}/", f"{(tag or '').replace('/', '_')}_"):
        if tag and relative.startswith(start) and len(relative) > len(start):
            return Series(folder, tag, relative[len(start) :])
    return None


def _logs_below(root: str) -> Iterator[tuple[str, list[str]]]:
    """Each folder with event files and nothing else in it, and their names; a run has more beside its log."""
    waiting = deque([root])
    for _ in range(_MOST_FOLDERS):
        if not waiting:
            return
        folder = waiting.popleft()
        try:
            entries = list(os.scandir(folder))
            waiting.extend(sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False)))
            files = [entry.name for entry in entries if entry.is_file()]
        except OSError:
            continue
        if folder != root and files and all(MARK in name for name in files):
            yield folder, files


@lru_cache(maxsize=16384)
def _only_tag(path: str, head_bytes: int) -> str | None:
    """The tag of all numbers at the beginning of a file; None if there are several, or anything else. How much
    is read stands in the call so that a file that was nearly empty is read again."""
    try:
        with open(path, "rb") as file:
            payloads = unframe(file.read(head_bytes))
        values = [value for payload in payloads for value in EventParser().parse(payload).values]
    except (OSError, *FOREIGN):
        return None
    tags = {value.tag for value in values}
    return tags.pop() if len(tags) == 1 and all(value.kind == SCALARS for value in values) else None


# Where a run lies: a folder on this machine, or an object store with a copy of it here.
class Folder:
    """A folder as it is."""

    is_copy = False  # then the times of its files are those of the copying

    def __init__(self, path: str) -> None:
        self.path = path
        self.fault = ""

    def refresh(self) -> None:
        """Brings `path` up to date; what went wrong is in `fault`."""


class StoredFolder(Folder):
    """What a reader needs from an object store, copied: it grows with the original and ends with this."""

    is_copy = True

    def __init__(self, url: str) -> None:
        self._copy = tempfile.TemporaryDirectory(prefix="torch-debugger-", ignore_cleanup_errors=True)
        self._url = url
        super().__init__(self._copy.name)

    def refresh(self) -> None:
        self.fault = ""
        try:
            fetch_new(self._url, self.path, _is_read)
        except DebuggerError as error:
            self.fault = str(error)


def place_of(folder: str) -> Folder:
    return StoredFolder(folder) if is_url(folder) else Folder(folder)


def find_stored_runs(url: str) -> list[FoundRun]:
    """As `folders.find_runs`, below a URL. Stores disagree on a time of change; names tell when a run began."""
    runs: dict[str, list[tuple[str, int]]] = {}
    for file in list_files(url):
        folder, _, name = file.name.rpartition("/")
        if MARK in name:
            runs.setdefault(folder, []).append((name, file.size))
    root = url.rstrip("/")
    return [
        FoundRun(
            folder or ".",
            f"{root}/{folder}" if folder else root,
            _started(files),
            sum(size for _, size in files),
        )
        for folder, files in sorted(runs.items())
    ]


def _is_read(name: str) -> bool:
    return os.path.basename(name) == name and (MARK in name or name == "result.json")


def _started(files: list[tuple[str, int]]) -> float:
    seconds = (part for name, _ in files for part in name.split(".") if part.isdecimal() and len(part) == 10)
    return max(map(float, seconds), default=0.0)
