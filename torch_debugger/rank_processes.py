"""The process group of this process, and the processes it starts: those that join a group are ranks."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from os import getpid
from typing import Any

from torch import distributed

from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.ranks.deaths import Deaths
from torch_debugger.ranks.groups import this_rank
from torch_debugger.ranks.nccl_settings import told_of_errors
from torch_debugger.ranks.starts import Wrap, is_importable_elsewhere, wrap_target
from torch_debugger.records import RankEnd, RankFact
from torch_debugger.settings import Settings
from torch_debugger.stats.shards import shards_expected
from torch_debugger.tracebacks import hidden_in_tracebacks
from torch_debugger.worker_samples import WorkerSamples


class ProcessProbes:
    """All that is watched of more than one process."""

    def __init__(self, watch: Watch, settings: Settings) -> None:
        self.ranks = RankProcesses(watch)
        self.all: list[Probe] = [self.ranks, *([WorkerSamples(watch)] if settings.profile_steps else [])]


class RankProcesses(Probe):
    name = "ranks"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.wrap: Wrap | None = None  # what watches in processes that are started here; None: nothing does
        self._deaths = Deaths()
        self._pid = getpid()
        self._told: RankFact | None = None
        self._ends_told: set[int] = set()
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
            if pid not in self._ends_told:
                self._ends_told.add(pid)
                self.watch.emit(RankEnd(-1, 128 - status if status < 0 else status, ended, pid=pid))

    def _look(self, step: int, scalars: dict[str, float]) -> None:
        """Not every way to a process group leads through the function that we replaced."""
        if self._told is None:
            is_news = distributed.is_available() and distributed.is_initialized()
        else:
            is_news = shards_expected() and not self._told.sharded
        if is_news:
            self._tell_rank()

    def _tell_rank(self) -> None:
        fact = this_rank()
        if fact is not None and fact != self._told:
            words = told_of_errors(os.environ) if "nccl" in fact.backend and self._told is None else ""
            self._told = fact
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
