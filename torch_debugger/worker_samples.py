"""Where the Python of loaders' workers is: samples of theirs, gathered from files in a folder of our own.

Only where a profile was asked for. Workers that are forked get a thread that samples them; those that are
spawned begin as other programs do, without us.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import shutil
import tempfile
from os import getpid
from typing import Any

from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from torch_debugger.clocks import time
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.profiling.stack_sampler import PERIOD_S
from torch_debugger.profiling.stack_tree import StackTree
from torch_debugger.profiling.worker_sampler import add_written, sample_this_worker
from torch_debugger.records import SampledStacks
from torch_debugger.tracebacks import hidden_in_tracebacks

_FIRST_READ_S, _MOST_APART_S = 3.0, 60.0  # between two readings: each is twice as far from the last
_MOST_FILES = 64  # read at once
_MOST_WORKERS = 64
_LARGEST_FILE_BYTES = 1_000_000

_starting: WorkerSamples | None = None  # while a loader starts its workers


class WorkerSamples(Probe):
    name = "worker stacks"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.folder: str | None = None  # made for the first workers
        self.pid = getpid()
        self._ended: dict[int, StackTree] = {}  # by worker: of processes that are over, whose files are gone
        self._period_s = PERIOD_S
        self._apart_s = _FIRST_READ_S
        self._read_at = 0.0
        self._others_told = False
        watch.between_steps.append(self._follow)

    def install(self, patches: Patches) -> None:
        patches.replace(_MultiProcessingDataLoaderIter, "__init__", self._around_start)

    def remove(self) -> None:
        """What there is is told once more, and the folder goes."""
        if self.folder is not None:
            folder, self.folder = self.folder, None
            try:
                self._tell(folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    def give_up(self) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None

    def _around_start(self, original: Any) -> Any:
        @functools.wraps(original)
        def __init__(iterator: Any, loader: Any, *rest: Any, **keywords: Any) -> None:  # noqa: N807
            global _starting
            self.watch.probe(self.name, self._prepare)
            is_ours = getpid() == self.pid  # and no fork of it, with loaders of its own
            _starting = self if is_ours and self.folder is not None else None
            try:
                with hidden_in_tracebacks:
                    original(iterator, loader, *rest, **keywords)
            finally:
                _starting = None
            self.watch.probe(self.name, self._tell_of_others, loader)

        return __init__

    def _prepare(self) -> None:
        if self.folder is None:
            self.folder = tempfile.mkdtemp(prefix="torch-debugger-workers-")
            self._read_at = time.monotonic() + self._apart_s
            _listen_for_forks()

    def _tell_of_others(self, loader: Any) -> None:
        """After the start: asking before it would settle how this program starts processes."""
        way = (loader.multiprocessing_context or multiprocessing).get_start_method()
        if way != "fork" and not self._others_told:
            self._others_told = True
            self.watch.notice(
                f"Workers of loaders are not sampled: they are started by {way}, and only forked ones can be. "
                'With num_workers=0, or multiprocessing_context="fork" for the DataLoader, they are.'
            )

    def _follow(self, step: int, scalars: dict[str, float]) -> None:
        if self.folder is not None and time.monotonic() >= self._read_at:
            self.watch.probe(self.name, self._read_some, self.folder)

    def _read_some(self, folder: str) -> None:
        self._apart_s = min(2 * self._apart_s, _MOST_APART_S)
        self._tell(folder)
        self._read_at = time.monotonic() + self._apart_s

    def _tell(self, folder: str) -> None:
        trees: dict[int, StackTree] = {}
        for worker, tree in self._ended.items():
            trees[worker] = StackTree()
            trees[worker].merge(tree)
        for name in sorted(os.listdir(folder))[:_MOST_FILES]:
            self._read(os.path.join(folder, name), trees)
        for worker, tree in sorted(trees.items())[:_MOST_WORKERS]:
            if tree.samples:
                step = self.watch.clock.step
                self.watch.emit(
                    SampledStacks(f"worker {worker}", tree.samples, self._period_s, step, tree.nodes())
                )

    def _read(self, path: str, trees: dict[int, StackTree]) -> None:
        stem, ending = os.path.splitext(os.path.basename(path))
        if ending != ".json" or os.path.getsize(path) > _LARGEST_FILE_BYTES:
            return
        worker, pid = map(int, stem.split("-"))
        is_over = not _is_alive(pid)  # asked first: what it writes last is then there
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self._period_s = add_written(text, trees.setdefault(worker, StackTree()))
        if is_over:
            add_written(text, self._ended.setdefault(worker, StackTree()))
            os.remove(path)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another's by now: that of the worker was ours
        return False
    return True


@functools.cache  # once in a process
def _listen_for_forks() -> None:
    os.register_at_fork(after_in_child=_forked)


def _forked() -> None:
    """In the child. One that a worker forks in its turn is not sampled."""
    global _starting
    begun, _starting = _starting, None
    if begun is not None and begun.folder is not None:
        sample_this_worker(begun.folder, begun.pid)
