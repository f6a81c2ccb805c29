"""The process group of this process, and the processes it starts: those that join a group are ranks."""

from __future__ import annotations

import functools
import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from os import getpid
from typing import Any

from torch import distributed
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.profiling.stack_sampling import PERIOD_S, StackTree, add_written, sample_this_worker
from torch_debugger.ranks.processes import (
    Deaths,
    Wrap,
    is_importable_elsewhere,
    nccl_error_setting,
    this_rank,
    wrap_target,
)
from torch_debugger.records import RankEnd, RankFact, SampledStacks
from torch_debugger.stats.dispatch_modes import shards_expected
from torch_debugger.system.clocks import time
from torch_debugger.system.tracebacks import hidden_in_tracebacks


class RankProcesses(Probe):
    name = "ranks"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.wrap: Wrap | None = None  # what watches in processes that are started here; None: nothing does
        self._deaths = Deaths()
        self._pid = getpid()
        self._rank_fact: RankFact | None = None
        self._reported_ends: set[int] = set()
        watch.between_steps.append(self._look)

    def install(self, patches: Patches) -> None:
        if distributed.is_available():
            for module in (distributed, distributed.distributed_c10d):
                patches.replace(module, "init_process_group", self._around_init)
        patches.replace(BaseProcess, "start", self._around_start)
        self._tell_rank()

    def remove(self) -> None:
        if getpid() == self._pid:
            self.tell_ends()
            self._deaths.stop()

    def tell_ends(self) -> None:
        """How the processes that were started here have ended, those that have."""
        for pid, status, ended in self._deaths.ended():
            if pid not in self._reported_ends:
                self._reported_ends.add(pid)
                self.watch.emit(RankEnd(-1, 128 - status if status < 0 else status, ended, pid=pid))

    def _look(self, step: int, scalars: dict[str, float]) -> None:
        """Not every way to a process group leads through the function that we replaced."""
        if self._rank_fact is None:
            is_news = distributed.is_available() and distributed.is_initialized()
        else:
            is_news = shards_expected() and not self._rank_fact.sharded
        if is_news:
            self._tell_rank()

    def _tell_rank(self) -> None:
        fact = this_rank()
        if fact is not None and fact != self._rank_fact:
            words = nccl_error_setting(os.environ) if "nccl" in fact.backend and self._rank_fact is None else ""
            self._rank_fact = fact
            self.watch.emit(fact)
            if words:
                self.watch.notice(words)

    def _around_init(self, original: Any) -> Any:
        @functools.wraps(original)
        def init_process_group(*arguments: Any, **keywords: Any) -> Any:
            with hidden_in_tracebacks:
                result = original(*arguments, **keywords)
            self.watch.probe(self.name, self._tell_rank)
            return result

        return init_process_group

    def _around_start(self, original: Any) -> Any:
        @functools.wraps(original)
        def start(process: BaseProcess) -> None:
            put_back = self.watch.probe(self.name, self._wrap, process)
            try:
                with hidden_in_tracebacks:
                    original(process)
            finally:
                if put_back is not None:
                    put_back()
            if put_back is not None:
                self.watch.probe(self.name, self._deaths.add, process)

        return start

    def _wrap(self, process: BaseProcess) -> Callable[[], None] | None:
        if self.wrap is None or getpid() != self._pid or not is_importable_elsewhere():
            return None
        return wrap_target(process, self.wrap)


# Where the Python of loaders' workers is: samples of theirs, gathered from files in a folder of our own.
#
# Only where a profile was asked for. Workers that are forked get a thread that samples them; those that are spawned
# begin as other programs do, without us.
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
        self._others_reported = False
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
        if way != "fork" and not self._others_reported:
            self._others_reported = True
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
                self.watch.emit(SampledStacks(f"worker {worker}", tree.samples, self._period_s, step, tree.nodes()))

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
