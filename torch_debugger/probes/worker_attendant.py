"""Inside of a forked worker: a thread that looks on, 20 times a second, and writes what it saw on the board.

It sees which sample is being made and where, how much memory is the worker's own, and what gets longer there.
Nothing here may end a worker, hold it up or draw a random number.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from torch.utils import data

from torch_debugger.anatomy.fetching import Fetching, Line, fetching_now, file_named_in
from torch_debugger.anatomy.growing import Container, containers_of
from torch_debugger.anatomy.own_memory import own_memory
from torch_debugger.probes.worker_board import WorkerBoard

PERIOD_S = 0.05
SLOW_S = 0.15  # at one sample: from here on it is told
_WRITE_EVERY_S = 1.0
_NO_WORKER_AFTER_S = 10.0  # a process that was forked beside the workers: none of our business
_MOST_LINES = 200
_LINES_TOLD, _CONTAINERS_TOLD = 3, 8
_EARLY_LOOKS = 6  # at the memory, close together: short runs have no others
_EARLY_SHARE, _LATER_SHARE = 0.015, 0.003  # of the time, for these looks
_APART_S, _MOST_APART_S = 0.5, 30.0
_LEAST_GROWN = 8  # entries


@dataclass
class _Sample:
    """The sample that is being made."""

    task: int
    position: int
    index: int | None
    dataset: str
    since: float
    seconds: float = 0.0
    lines: dict[Line, int] = field(default_factory=dict)
    file: tuple[str, int] = ("", 0)
    file_asked: bool = False

    def told(self) -> dict[str, Any]:
        line = max(self.lines, key=lambda each: self.lines[each], default=None)
        return {
            "task": self.task,
            "index": self.index,
            "dataset": self.dataset,
            "seconds": self.seconds,
            "at": self.since + self.seconds,
            "line": line,
            "file": self.file,
        }


class WorkerAttendant:
    def __init__(self, board: WorkerBoard, parent: int) -> None:
        self._board = board
        self._parent = parent
        self._asked = threading.get_ident()
        self._lines: dict[Line, int] = {}
        self._sample: _Sample | None = None
        self._slowest: _Sample | None = None
        self._memory: list[int] | None = None
        self._looks = 0
        self._look_at = 0.0
        self._lengths: dict[tuple[str, str], int] = {}
        self._grown: list[list[Any]] = []
        self._written = 0.0

    def start(self) -> None:
        """In the child, right after the fork; where no thread is to be had, this worker goes unseen."""
        thread = threading.Thread(target=self._run, name="torch-debugger worker", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return

    def _run(self) -> None:
        began = time.monotonic()
        while os.getppid() == self._parent:
            time.sleep(PERIOD_S)
            worker = data.get_worker_info()
            if worker is not None:
                try:
                    self._attend(worker.id, worker.dataset)
                except Exception as error:  # told by the training, whose guard takes the probe off
                    self._board.write(worker.id, {"fault": f"{type(error).__name__}: {error}"})
                    return
            elif time.monotonic() - began > _NO_WORKER_AFTER_S:
                return

    def _attend(self, worker: int, dataset: Any) -> None:
        now = time.monotonic()
        is_news = self._look(now)
        if now >= self._look_at:
            self._measure(dataset)
            is_news = True
        if is_news or now - self._written >= _WRITE_EVERY_S:
            self._written = now
            self._board.write(worker, self._told())

    def _told(self) -> dict[str, Any]:
        most = sorted(self._lines.items(), key=lambda item: -item[1])[:_LINES_TOLD]
        return {
            "pid": os.getpid(),
            "lines": most,
            "looks": sum(self._lines.values()),
            "slow": self._slowest.told() if self._slowest is not None else None,
            "memory": self._memory,
            "grown": self._grown[:_CONTAINERS_TOLD],
        }

    def _look(self, now: float) -> bool:
        """Without a collection of garbage meanwhile, which would free what is the user's in this thread."""
        collects = gc.isenabled()
        gc.disable()
        try:
            seen = fetching_now(sys._current_frames().get(self._asked))
            return self._follow(seen, now) if seen is not None else self._forget()
        finally:
            if collects:
                gc.enable()

    def _forget(self) -> bool:
        self._sample = None
        return False

    def _follow(self, seen: Fetching, now: float) -> bool:
        if seen.line is not None and (seen.line in self._lines or len(self._lines) < _MOST_LINES):
            self._lines[seen.line] = self._lines.get(seen.line, 0) + 1
        sample = self._sample
        if sample is None or (sample.task, sample.position) != (seen.task, seen.position):
            # It began somewhere between the last look and this one.
            since = now - PERIOD_S / 2
            sample = self._sample = _Sample(seen.task, seen.position, seen.index, seen.dataset, since)
        sample.seconds = now - sample.since
        if seen.line is not None:
            sample.lines[seen.line] = sample.lines.get(seen.line, 0) + 1
        if sample.seconds < SLOW_S:
            return False
        if not sample.file_asked:
            sample.file_asked = True
            sample.file = file_named_in(seen.frames)
        self._slowest = self._slower(sample)
        return self._slowest is sample

    def _slower(self, sample: _Sample) -> _Sample:
        """Of one batch, the sample that takes longest; what a batch before took is of no interest any more."""
        before = self._slowest
        return before if before and before.task == sample.task and before.seconds > sample.seconds else sample

    def _measure(self, dataset: Any) -> None:
        began = time.perf_counter()
        memory = own_memory()
        if memory is not None:
            self._memory = [self._looks, *memory]
        self._look_for_growth(dataset)
        took_s = time.perf_counter() - began
        share = _EARLY_SHARE if self._looks < _EARLY_LOOKS else _LATER_SHARE
        apart_s = _APART_S if self._looks < _EARLY_LOOKS else min(_APART_S * self._looks, _MOST_APART_S)
        self._looks += 1
        self._look_at = time.monotonic() + max(apart_s, took_s / share)

    def _look_for_growth(self, dataset: Any) -> None:
        try:
            found = containers_of(dataset)
        except RuntimeError:  # the worker changed a dictionary meanwhile
            return
        first = self._lengths or {(each.owner, each.name): each.length for each in found}
        self._lengths = first
        self._grown = [self._growth(each) for each in found if self._has_grown(each)]

    def _has_grown(self, container: Container) -> bool:
        before = self._lengths.get((container.owner, container.name), 0)
        return container.length - before >= _LEAST_GROWN

    def _growth(self, now: Container) -> list[Any]:
        before = self._lengths.get((now.owner, now.name), 0)
        return [now.owner, now.name, now.kind, before, now.length, now.entry_bytes]
