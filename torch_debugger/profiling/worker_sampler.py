"""Inside of a loader's worker: where its Python is, written into a file that the training reads.

Begun in the moment of the fork. Nothing here may end a worker, hold it up or draw a random number: whatever
fails ends the sampling and nothing else.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
from multiprocessing import util
from multiprocessing.queues import Queue
from os import getpid
from types import FrameType

from torch.utils import data
from torch.utils.data._utils.worker import _worker_loop

from torch_debugger.clocks import time
from torch_debugger.profiling.stack_sampler import StackSampler
from torch_debugger.profiling.stack_tree import Key, StackTree, name_of, path_below

WAITING: Key = ("", "waiting until the training asks for a batch", 0, False)
WRITE_EVERY_S = 1.0
_LOOP = _worker_loop.__code__
_GET = Queue.get.__code__  # of the queue of indices
_QUEUE = (_GET.co_filename, name_of(_GET))
_DEEPEST = 64
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
            self._find_number(now)
        elif now - self._written >= WRITE_EVERY_S:
            self._written = now
            self._write()

    def _find_number(self, now: float) -> None:
        worker = data.get_worker_info()
        if worker is not None:
            self._file = os.path.join(self._folder, f"{worker.id}-{getpid()}.json")
            util.Finalize(None, self._write_last, exitpriority=0)  # a worker leaves without atexit
        elif now - self._began > _NO_WORKER_AFTER_S:
            self._ended = True

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
            self._tidy_up()
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

    def _tidy_up(self) -> None:
        """The training is gone without a word, and nobody else will clear the folder."""
        for path in (self._file, f"{self._file}.new"):
            if os.path.exists(path):
                os.remove(path)
        os.rmdir(self._folder)  # by the last worker; for others it raises, which ends the thread


def written(tree: StackTree, period_s: float) -> str:
    """Nodes as [parent, file, function, line, the user's, samples]: code is looked up by the reader."""
    rows = [
        [node.parent, node.place.file, node.function, node.place.line, node.is_users, node.samples]
        for node in tree.nodes()
    ]
    return json.dumps({"period_s": period_s, "nodes": rows})


def add_written(text: str, tree: StackTree) -> float:
    """Adds what `written` wrote to a tree; the period of its samples."""
    told = json.loads(text)
    paths: list[list[Key]] = []
    for parent, file, function, line, users, samples in told["nodes"]:
        paths.append([*(paths[parent] if parent >= 0 else []), (file, function, line, users)])
        if samples:
            tree.add(paths[-1], samples)
    return float(told["period_s"])
