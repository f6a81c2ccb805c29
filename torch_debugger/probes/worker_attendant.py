"""Inside of a forked worker: a thread that looks on, 20 times a second, and writes what it saw on the board.

It sees which sample is being made and where, how much memory is the worker's own, and what gets longer there.
Nothing here may end a worker, hold it up or draw a random number.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from os import getpid
from typing import Any

from torch.utils import data

from torch_debugger.anatomy.growing import Container, containers_of
from torch_debugger.anatomy.own_memory import own_memory
from torch_debugger.clocks import time
from torch_debugger.probes.sample_follower import PERIOD_S, SampleFollower
from torch_debugger.probes.worker_board import WorkerBoard
from torch_debugger.signals import OwnThread

_WRITE_EVERY_S = 1.0
_NO_WORKER_AFTER_S = 10.0  # a process that was forked beside the workers: none of our business
_CONTAINERS_TOLD = 8
_EARLY_LOOKS = 6  # at the memory, close together: short runs have no others
_EARLY_SHARE, _LATER_SHARE = 0.015, 0.003  # of the time, for these looks
_APART_S, _MOST_APART_S = 0.5, 30.0
_LEAST_GROWN = 8  # entries


class WorkerAttendant:
    def __init__(self, board: WorkerBoard, parent: int) -> None:
        self._board = board
        self._parent = parent
        self._thread = threading.get_ident()
        self._follower = SampleFollower()
        self._memory: list[int] | None = None
        self._looks = 0
        self._look_at = 0.0
        self._lengths: dict[tuple[str, str], int] = {}
        self._grown: list[list[Any]] = []
        self._written = 0.0

    def start(self) -> None:
        """In the child, right after the fork; where no thread is to be had, this worker goes unseen."""
        thread = OwnThread(self._run, "torch-debugger worker")
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
                    with suppress(Exception):  # a fault in telling: then nobody hears of it
                        self._board.write(worker.id, {"fault": f"{type(error).__name__}: {error}"})
                    return
            elif time.monotonic() - began > _NO_WORKER_AFTER_S:
                return

    def _attend(self, worker: int, dataset: Any) -> None:
        now = time.monotonic()
        is_news = self._follower.look(self._thread, now)
        if now >= self._look_at:
            self._measure(dataset)
            is_news = True
        if is_news or now - self._written >= _WRITE_EVERY_S:
            self._written = now
            self._board.write(worker, self._told())

    def _told(self) -> dict[str, Any]:
        return {
            "pid": getpid(),
            **self._follower.told(),
            "memory": self._memory,
            "grown": self._grown[:_CONTAINERS_TOLD],
        }

    def _measure(self, dataset: Any) -> None:
        began = time.thread_time()
        memory = own_memory()
        if memory is not None:
            self._memory = [self._looks, *memory]
        self._look_for_growth(dataset)
        took_s = time.thread_time() - began
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
        return [now.owner, now.name, now.kind, before, now.length, now.entry_bytes, *now.made]
