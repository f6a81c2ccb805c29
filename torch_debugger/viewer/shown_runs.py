"""The runs that a page can show: found below the folders it was started with, opened when asked for.

A name that a browser sends is looked up among what was found, and never becomes a path.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from torch_debugger.log.folders import FoundRun, event_files, find_runs, find_stored_runs, series_folders
from torch_debugger.log.object_stores import is_url, named_place
from torch_debugger.log.run import Run
from torch_debugger.log.run_facts import may_grow
from torch_debugger.records import Finding, TraceReport
from torch_debugger.system.errors import DebuggerError, UsageError

_Answer = TypeVar("_Answer")


def folders_of(logdir: str, spec: str = "") -> dict[str, str]:
    """Prefix -> folder. A spec is TensorBoard's `name:path,other:path`; a plain logdir has no prefix."""
    if logdir:
        return {"": os.path.expanduser(logdir)}
    named = [named_place(part) for part in spec.split(",") if part]
    return {name or path: os.path.expanduser(path) for name, path in named}


class ShownRuns:
    """Safe to use from the many threads of a server; those who ask about the same run take turns. Runs that
    other tools have logged are there if `of_others`."""

    def __init__(self, folders: Mapping[str, str], *, of_others: bool = False) -> None:
        self._finder = RunFinder(folders, of_others=of_others)
        self._open = OpenRuns()
        self.traces = TraceBook()
        self.call_profiles: dict[str, dict[str, Any]] = {}  # of Python's own profilers, shown instead of runs

    @property
    def folders(self) -> dict[str, str]:
        return self._finder.folders

    def names(self) -> list[str]:
        """The one that was written last comes first."""
        known = self._finder.all()
        return sorted(known, key=lambda name: (-known[name].found.changed, name))

    def all_shown(self) -> dict[str, ShownRun]:
        return self._finder.all()

    def shown(self, name: str) -> ShownRun:
        """Where the run is. Raises UsageError for what is no run here, or is gone."""
        shown = self._finder.find(name)
        if shown is None:
            whose = "" if self._finder.of_others else " of torch-debugger"
            raise UsageError(f"There is no run {name!r}{whose} in the folder that is shown.")
        if not is_url(shown.found.folder) and not os.path.isdir(shown.found.folder):
            raise UsageError(f"The run {name!r} is gone: its folder was deleted or moved.")
        return shown

    def ask(self, name: str, question: Callable[[Run], _Answer]) -> _Answer:
        """What `question` makes of the run, read up to now."""
        found = self.shown(name).found
        one = self._open.take(name, found.folder, found.size_bytes)
        with one.lock:
            one.read_on()
            return question(one.run)

    def pulse(self, name: str) -> dict[str, Any]:
        """A word that changes with every byte that is written, and whether more may come. Nothing is read.
        `read_share` is there while somebody waits for the log to be read."""
        found = self.shown(name).found
        if is_url(found.folder):
            return {"version": f"{found.size_bytes}", "growing": False}
        now = stand_of(found.folder)
        opened = self._open.known(name)
        judged = opened.judged.news if opened is not None else 0
        version = f"{len(now.files)}-{now.size_bytes}-{now.ended:.6f}-{now.grows:d}-{judged}"
        busy = opened is not None and opened.judged.step is not None
        state = {"version": version, "growing": now.grows or busy}
        if opened is not None and opened.is_reading:
            state["read_share"] = opened.run.read_bytes / max(1, now.size_bytes)
        return state

    def forget(self, name: str) -> None:
        """After it was deleted."""
        self._open.close(name)
        self._finder.look_again()


# The runs that are open, each with a lock of its own: one that takes long to read does not stop the others.

# What is read of a log takes up to about as much memory as the log takes on disk.
_MOST_OPEN = 64
_MOST_BYTES = 1_000_000_000
_PATIENCE_S = 0.3  # for findings that nobody has written down; the page asks again
_STORE_EVERY_S = 10.0  # an object store is asked over the network


class OpenRun:
    def __init__(self, folder: str, name: str) -> None:
        self.run = Run(folder, name)
        self.judged = self.run.judge_aside(_PATIENCE_S)
        self.is_reading = False
        self.lock = threading.Lock()
        self.size_bytes = 0  # of its log
        self._read_again_s = 0.0

    def read_on(self) -> None:
        """Up to now. A folder is read on each time: a page that was told of news must find them."""
        now = time.monotonic()
        if now >= self._read_again_s:
            self.is_reading = True
            self.run.poll()
            self.is_reading = False
            self._read_again_s = now + _STORE_EVERY_S if is_url(self.run.folder) else 0.0


class OpenRuns:
    """The ones that were used last; a run that is closed is read again when it is asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[str, OpenRun] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def take(self, name: str, folder: str, size_bytes: int) -> OpenRun:
        with self._lock:
            one = self._open.pop(name, None)
            if one is None or one.run.folder != folder:
                one = OpenRun(folder, name)
            one.size_bytes = size_bytes
            self._open[name] = one
            # The one that is asked for stays open, however large it is.
            total = sum(each.size_bytes for each in self._open.values())
            while len(self._open) > 1 and (len(self._open) > _MOST_OPEN or total > _MOST_BYTES):
                _, closed = self._open.popitem(last=False)
                total -= closed.size_bytes
            return one

    def known(self, name: str) -> OpenRun | None:
        return self._open.get(name)

    def close(self, name: str) -> None:
        with self._lock:
            self._open.pop(name, None)


# Which runs there are below the folders that are shown.
#
# Ten thousand folders are walked in the background: only the very first answer waits for that.
OURS = ".torch_debugger"  # in the name of every event file that we write
_LOOK_EVERY_S = 1.0
_SHARE = 10  # of the time at most one in this many goes into looking
_QUICK_S = 0.05  # a look that nobody minds waiting for


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run that was found, and the folder below which it was."""

    found: FoundRun
    root: str


class RunFinder:
    def __init__(self, folders: Mapping[str, str], *, of_others: bool) -> None:
        self.folders = dict(folders)
        self.of_others = of_others
        self._ours: set[str] = set()  # folders
        self._known: dict[str, ShownRun] = {}
        self._looked_s, self._took_s = -float("inf"), 0.0
        self._look_lock = threading.Lock()

    def all(self) -> dict[str, ShownRun]:
        """By name."""
        if self._is_due():
            if self._took_s > _QUICK_S:
                threading.Thread(target=self._look, daemon=True).start()
            else:
                self._look()
        return self._known

    def find(self, name: str) -> ShownRun | None:
        """One that is not known may have begun a moment ago: it is looked for again, but not all the time."""
        known = self.all().get(name)
        if known is None and self._is_due():
            self._look()
            known = self._known.get(name)
        return known

    def look_again(self) -> None:
        """After something was taken away."""
        self._looked_s = -float("inf")
        self._look()

    def _is_due(self) -> bool:
        return time.monotonic() - self._looked_s > max(_LOOK_EVERY_S, _SHARE * self._took_s)

    def _look(self) -> None:
        with self._look_lock:
            if not self._is_due():  # somebody else has looked while we waited
                return
            started = time.monotonic()
            self._known = {
                os.path.normpath(os.path.join(prefix, each.name)): ShownRun(each, root)
                for prefix, root in self.folders.items()
                for each in _runs_below(root)
                if self.of_others or self._is_ours(each.folder)
            }
            self._looked_s = time.monotonic()
            self._took_s = self._looked_s - started

    def _is_ours(self, folder: str) -> bool:
        if folder not in self._ours and any(OURS in os.path.basename(path) for path in event_files(folder)):
            self._ours.add(folder)
        return folder in self._ours


def _runs_below(root: str) -> list[FoundRun]:
    if not is_url(root):
        return find_runs(root)
    try:
        return find_stored_runs(root)
    except DebuggerError:  # a store out of reach has no runs now; the next look may find it again
        return []


# How a run's folder stands at this moment, told from its files without reading them.
_RESULT = "result.json"  # written once a run of ours has ended


class Stand(NamedTuple):
    files: list[str]
    size_bytes: int
    changed: float  # seconds since the epoch
    ended: float  # when the run said how it ended; 0 if it has not

    @property
    def grows(self) -> bool:
        """Whether more may be written: the writer has not ended, as far as can be told."""
        return self.ended < self.changed and may_grow(self.files, self.changed)


def stand_of(folder: str) -> Stand:
    folders = [folder, *(series.folder for series in series_folders(folder))]
    paths = [path for each in folders for path in event_files(each)]
    files = {path: state for path in paths if (state := _state(path)) is not None}
    size = sum(each.st_size for each in files.values())
    changed = max((each.st_mtime for each in files.values()), default=0.0)
    result = _state(os.path.join(folder, _RESULT))
    return Stand(list(files), size, changed, result.st_mtime if result is not None else 0.0)


def _state(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:  # taken away in this moment
        return None


# The traces of torch.profiler that a page shows: as they were read, or how far reading them has come.
class TimelineWindow(Protocol):
    """Of which the page asks for one stretch after the other."""

    @property
    def took_s(self) -> float: ...

    def window(self, from_s: float, to_s: float, pixels: int, *, python: bool) -> dict[str, Any]: ...

    def find(self, words: str, after_s: float, *, python: bool) -> dict[str, Any] | None: ...


@dataclass(frozen=True)
class OpenTrace:
    report: TraceReport
    timeline: TimelineWindow
    findings: tuple[Finding, ...]


class TraceBook:
    """Filled by one thread while those of a server read it."""

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        self.files = dict(files or {})
        self._open: dict[str, OpenTrace] = {}
        self._failed: dict[str, str] = {}
        self._shares: dict[str, float] = {}

    def add(self, name: str, trace: OpenTrace) -> None:
        self._open[name] = trace

    def fail(self, name: str, why: str) -> None:
        self._failed[name] = why

    def note_share(self, name: str, share: float) -> None:
        self._shares[name] = share

    def listed(self) -> list[dict[str, Any]]:
        return [self._entry(name, file) for name, file in self.files.items()]

    def _entry(self, name: str, file: str) -> dict[str, Any]:
        trace = self._open.get(name)
        rank = trace.report.rank if trace is not None else None
        return {
            "name": name,
            "file": file,
            "ready": trace is not None,
            "error": self._failed.get(name),
            "share": self._shares.get(name),
            "rank": rank.rank if rank is not None and rank.world_size > 1 else None,
            "step_s": trace.report.step_s if trace is not None else None,
        }

    def opened(self) -> dict[str, OpenTrace]:
        return dict(self._open)

    def find(self, name: str) -> OpenTrace:
        """Looked up among what is shown: a name that a browser sends never becomes a path."""
        trace = self._open.get(name)
        if trace is not None:
            return trace
        if name in self._failed:
            raise UsageError(self._failed[name])
        if name in self.files:
            raise UsageError(f"The trace {name!r} is being read.")
        raise UsageError(f"There is no trace {name!r} among what is shown.")
