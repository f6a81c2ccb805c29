"""Where a thread's Python is, asked again and again by another thread: a line's share of the answers is its
share of the time. Nothing is traced and nothing runs in the thread that is asked."""

from __future__ import annotations

import functools
import gc
import itertools
import json
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import util
from multiprocessing.queues import Queue
from os import getpid
from types import CodeType, FrameType

from torch import nn
from torch.utils import data
from torch.utils.data._utils.worker import _worker_loop

from torch_debugger.records import Place, StackNode
from torch_debugger.source.files import is_user_file, package_folder, place_at
from torch_debugger.source.statements import StatementContext, surroundings_of
from torch_debugger.system.clocks import time
from torch_debugger.system.signals import OwnThread

PERIOD_S = 0.02
LONGEST_PERIOD_S = 0.1
_COST_SHARE = 0.004  # of the time, for asking: a sample takes 30 to 130 us of a processor, 250 in some containers
# Of a processor, before that share counts: short runs are told of as well.
_ALLOWANCE_S = 0.05


class StackSampler:
    """`step` is asked with every sample: the step under way, or None while nothing should be counted. What was
    seen counts when its step is over: what comes after the last one is no training."""

    def __init__(
        self, thread: int, step: Callable[[], int | None], own_work: Collection[CodeType] = frozenset()
    ) -> None:
        self.cpu_s = 0.0
        self.fault: Exception | None = None
        self.lock = threading.Lock()  # around the tree
        self.tree = StackTree()
        self.period_s = PERIOD_S
        self._asked = thread
        self._step = step
        self._own_work = frozenset(own_work)
        self._of_step = StackTree()  # bounded: a script may go on for hours after its last step
        self._last = -1
        self._ended = False
        self._thread = OwnThread(self._run, "torch-debugger stacks")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended = True
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        try:
            self._sample()
        except Exception as error:  # of a thread of ours: told by whoever started it
            self.fault = error

    def _sample(self) -> None:
        typical_s, last_s = 0.0, time.perf_counter()
        while not self._ended:
            time.sleep(self.period_s)  # a third of what waiting for an event costs
            since_s, last_s = time.perf_counter() - last_s, time.perf_counter()
            step = self._step()
            if step is None:
                continue
            self._take(step, since_s)
            before_s, self.cpu_s = self.cpu_s, time.thread_time()
            typical_s = 0.9 * typical_s + 0.1 * (self.cpu_s - before_s)
            if self.cpu_s > _ALLOWANCE_S:
                self.period_s = min(max(PERIOD_S, typical_s / _COST_SHARE), LONGEST_PERIOD_S)

    def _take(self, step: int, since_s: float = 0.0) -> None:
        """Without a collection of garbage meanwhile: what it frees of the user's would be freed by this thread.
        The training cannot run in between, for it would have to wait for Python's lock far longer."""
        collects = gc.isenabled()
        gc.disable()
        try:
            self._add(step, since_s)
        finally:
            if collects:
                gc.enable()

    def _add(self, step: int, since_s: float) -> None:
        if step != self._last:
            with self.lock:
                self.tree.merge(self._of_step)
            self._of_step, self._last = StackTree(), step
        found = self._path(sys._current_frames().get(self._asked))
        if found is not None:
            # A call that keeps Python's lock is seen once, when it lets go, however long it took.
            self._of_step.add(found, max(1, round(since_s / self.period_s)))

    def _path(self, frame: FrameType | None) -> list[Key] | None:
        return path_of(frame, self._own_work)


# Stacks that were seen, merged into one tree: a node for each line of the user's and library's function.
Key = tuple[str, str, int, bool]  # file, function, line (of a library: the function's first), the user's?

_MOST_NODES = 4000
_NODES_KEPT = 400
_LEAST_SHARE = 0.002  # of all samples
_DEEPEST = 64
# Around every module call: they tell nothing and double the depth of a stack.
_PASSED_THROUGH = {nn.Module._call_impl.__code__, nn.Module._wrapped_call_impl.__code__}


@dataclass
class _Node:
    samples: int = 0
    inside: dict[Key, _Node] = field(default_factory=dict)

    def total(self) -> int:
        return self.samples + sum(node.total() for node in self.inside.values())


def path_of(frame: FrameType | None, own_work: Collection[CodeType]) -> list[Key] | None:
    """From the user's outermost line inwards; None for a stack that works for us, or is not below the user."""
    path = path_below(None, frame, own_work)
    first = next((place for place, key in enumerate(path or ()) if key[3]), None)
    return None if path is None or first is None else path[first : first + _DEEPEST]


def path_below(
    outermost: CodeType | None, frame: FrameType | None, own_work: Collection[CodeType] = ()
) -> list[Key] | None:
    """From what that code called inwards, or from the very beginning; None for a stack that works for us."""
    if frame is None or _kind(frame.f_code) == _OURS:
        return None
    path: list[Key] = []
    while frame is not None and frame.f_code is not outermost:
        code = frame.f_code
        if code in own_work:
            return None
        kind = _kind(code)
        if kind == _USERS:
            path.append((code.co_filename, name_of(code), frame.f_lineno or 0, True))
        elif kind == _LIBRARY:
            path.append((code.co_filename, name_of(code), code.co_firstlineno, False))
        frame = frame.f_back
    path.reverse()
    return path if frame is not None or outermost is None else None


_USERS, _LIBRARY, _OURS, _PASSED = range(4)


@functools.lru_cache(maxsize=2048)
def _kind(code: CodeType) -> int:
    if is_user_file(code.co_filename):
        return _USERS
    if code.co_filename.startswith(package_folder()):
        return _OURS
    return _PASSED if code in _PASSED_THROUGH else _LIBRARY


def name_of(code: CodeType) -> str:
    return str(getattr(code, "co_qualname", code.co_name))  # Python 3.10 has no longer name


class StackTree:
    def __init__(self) -> None:
        self.samples = 0
        self._root = _Node()
        self._nodes = 0

    def add(self, path: Sequence[Key], samples: int = 1) -> None:
        self.samples += samples
        node = self._root
        for key in path:
            below = node.inside.get(key)
            if below is None:
                if self._nodes >= _MOST_NODES:
                    break  # counted with the line above it
                below = node.inside[key] = _Node()
                self._nodes += 1
            node = below
        node.samples += samples

    def merge(self, other: StackTree) -> None:
        for path, samples in _paths(other._root, ()):
            self.add(path, samples)

    def nodes(self) -> tuple[StackNode, ...]:
        """The largest ones; what is left out is counted with the line above it."""
        least = max(1, int(self.samples * _LEAST_SHARE))
        totals = sorted((node.total() for node in _all(self._root)), reverse=True)
        if len(totals) > _NODES_KEPT:
            least = max(least, totals[_NODES_KEPT])
        kept: list[StackNode] = []
        _collect(self._root, -1, least, kept)
        return tuple(kept)


def _paths(node: _Node, path: tuple[Key, ...]) -> Iterator[tuple[tuple[Key, ...], int]]:
    if node.samples:
        yield path, node.samples
    for key, below in node.inside.items():
        yield from _paths(below, (*path, key))


def _all(node: _Node) -> list[_Node]:
    return [each for below in node.inside.values() for each in (below, *_all(below))]


def _collect(above: _Node, parent: int, least: int, kept: list[StackNode]) -> None:
    for (file, function, line, users), node in sorted(above.inside.items(), key=lambda item: -item[1].total()):
        total = node.total()
        if total < least:
            continue
        left_out = sum(below.total() for below in node.inside.values() if below.total() < least)
        place = place_at(file, line) if users else Place(file, line)
        around = surroundings_of(file, line) if users else StatementContext()
        samples = node.samples + left_out
        kept.append(StackNode(parent, function, place, users, samples, total, around.loops, around.condition))
        _collect(node, len(kept) - 1, least, kept)


# Inside of a loader's worker: where its Python is, written into a file that the training reads.
#
# Begun in the moment of the fork. Nothing here may end a worker, hold it up or draw a random number: whatever fails
# ends the sampling and nothing else.
WAITING: Key = ("", "waiting until the training asks for a batch", 0, False)
WRITE_EVERY_S = 1.0
_LOOP = _worker_loop.__code__
_GET = Queue.get.__code__  # of the queue of indices
_QUEUE = (_GET.co_filename, name_of(_GET))
_NO_WORKER_AFTER_S = 10.0  # a process that was forked beside the workers: none of our business
_LOCK_S = 0.2


def sample_this_worker(folder: str, parent: int) -> None:
    """In the child, right after the fork: a thread that may be stopped at any moment."""
    try:
        WorkerSampler(folder, parent).start()
    except RuntimeError:  # no thread is to be had: this worker goes unsampled
        return


class WorkerSampler(StackSampler):
    def __init__(self, folder: str, parent: int) -> None:
        super().__init__(threading.get_ident(), itertools.count().__next__)
        self._folder = folder
        self._parent = parent
        self._file = ""  # once the number of the worker is known
        self._began = self._written = time.monotonic()

    def _take(self, step: int, since_s: float = 0.0) -> None:
        super()._take(step, since_s)
        now = time.monotonic()
        if not self._file:
            worker = data.get_worker_info()
            if worker is not None:
                self._file = os.path.join(self._folder, f"{worker.id}-{getpid()}.json")
                util.Finalize(None, self._write_last, exitpriority=0)  # a worker leaves without atexit
            elif now - self._began > _NO_WORKER_AFTER_S:
                self._ended = True
        elif now - self._written >= WRITE_EVERY_S:
            self._written = now
            self._write()

    def _path(self, frame: FrameType | None) -> list[Key] | None:
        """From the worker's loop inwards: above it is the stack of the training at the time of the fork."""
        path = path_below(_LOOP, frame)
        if path and path[0][:2] == _QUEUE:
            return [WAITING]
        return path[:_DEEPEST] if path else None

    def _write_last(self) -> None:
        try:
            self._write()
        except OSError:
            return  # the folder is gone: nobody will read it
        finally:
            self._ended = True

    def _write(self) -> None:
        """At once or not at all: whoever reads it never sees half a file."""
        if os.getppid() != self._parent:
            self._ended = True
            # The training is gone without a word, and nobody else will clear the folder.
            for path in (self._file, f"{self._file}.new"):
                if os.path.exists(path):
                    os.remove(path)
            os.rmdir(self._folder)  # by the last worker; for others it raises, which ends the thread
            return
        if not self.lock.acquire(timeout=_LOCK_S):
            return
        try:
            text = written(self.tree, self.period_s)
        finally:
            self.lock.release()
        with open(f"{self._file}.new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(f"{self._file}.new", self._file)


def written(tree: StackTree, period_s: float) -> str:
    """Nodes as [parent, file, function, line, the user's, samples]: code is looked up by the reader."""
    rows = [
        [node.parent, node.place.file, node.function, node.place.line, node.is_users, node.samples]
        for node in tree.nodes()
    ]
    return json.dumps({"period_s": period_s, "nodes": rows})


def add_written(text: str, tree: StackTree) -> float:
    """Adds what `written` wrote to a tree; the period of its samples."""
    found = json.loads(text)
    paths: list[list[Key]] = []
    for parent, file, function, line, users, samples in found["nodes"]:
        paths.append([*(paths[parent] if parent >= 0 else []), (file, function, line, users)])
        if samples:
            tree.add(paths[-1], samples)
    return float(found["period_s"])
