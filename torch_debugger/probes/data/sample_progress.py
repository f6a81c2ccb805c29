"""The sample that a process makes just now, followed by another thread of its: which, where and how long."""

from __future__ import annotations

import gc
import mmap
import os
import struct
import sys
import threading
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from json import dumps, loads
from os import getpid
from typing import Any

from torch.utils import data

from torch_debugger.source.dataloaders import Fetching, Line, fetching_now, file_named_in
from torch_debugger.source.datasets import containers_of
from torch_debugger.stats.resources import own_memory
from torch_debugger.system.clocks import time
from torch_debugger.system.signals import OwnThread

PERIOD_S = 0.05  # between two looks
SLOW_S = 0.15  # at one sample: from here on it is told
_STALL_PERIODS = 3.0  # periods between two looks: a call has kept Python's lock to itself
_MOST_LINES = 200
_LINES_SHOWN = 3


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


class SampleFollower:
    def __init__(self) -> None:
        self._lines: dict[Line, int] = {}
        self._sample: _Sample | None = None
        self._slowest: _Sample | None = None
        self._same_batch = False  # as that of the slowest: nothing else was made since
        self._last = 0.0

    @property
    def slowest(self) -> dict[str, Any] | None:
        """Of the last batch that had a slow sample."""
        return self._slowest.told() if self._slowest is not None else None

    def told(self) -> dict[str, Any]:
        most = sorted(self._lines.items(), key=lambda item: -item[1])[:_LINES_SHOWN]
        return {"lines": most, "looks": sum(self._lines.values()), "slow": self.slowest}

    def rest(self, now: float) -> None:
        """Nothing is being made."""
        self._sample, self._same_batch, self._last = None, False, now

    def look(self, thread: int, now: float, earliest: float = 0.0) -> bool:
        """Whether a slow sample is under way, which was not begun before `earliest`. Without a collection of
        garbage meanwhile, which would free what is the user's in this thread."""
        self._last = max(self._last, earliest)
        collects = gc.isenabled()
        gc.disable()
        try:
            seen = fetching_now(sys._current_frames().get(thread))
            if seen is None:
                self._sample, self._same_batch = None, False
            return seen is not None and self._follow(seen, now)
        finally:
            self._last = now
            if collects:
                gc.enable()

    def _follow(self, seen: Fetching, now: float) -> bool:
        since_s = now - self._last if self._last else PERIOD_S
        if seen.line is not None and (seen.line in self._lines or len(self._lines) < _MOST_LINES):
            self._lines[seen.line] = self._lines.get(seen.line, 0) + max(1, round(since_s / PERIOD_S))
        sample = self._sample
        if sample is None or (sample.task, sample.position) != (seen.task, seen.position):
            # It began between the last look and this one: right after it, where this thread was held up.
            began = self._last if since_s > _STALL_PERIODS * PERIOD_S else now - PERIOD_S
            sample = _Sample(seen.task, seen.position, seen.index, seen.dataset, began + PERIOD_S / 2)
            self._sample = sample
        sample.seconds = now - sample.since
        if seen.line is not None:
            sample.lines[seen.line] = sample.lines.get(seen.line, 0) + 1
        if sample.seconds < SLOW_S:
            return False
        if not sample.file_asked:
            sample.file_asked = True
            sample.file = file_named_in(seen.frames)
        # Of one batch, the sample that takes longest; what a batch before took is of no interest any more.
        before = self._slowest
        same = self._same_batch and before is not None and before.task == sample.task
        if before is None or not same or before.seconds <= sample.seconds:
            self._slowest, self._same_batch = sample, True
        return self._slowest is sample


# For loaders without workers: a thread that looks, 20 times a second, which sample the training is at.
class TrainingObserver:
    def __init__(self) -> None:
        self.fault: Exception | None = None
        self._follower = SampleFollower()
        self._in_progress: tuple[int, float] | None = None  # the thread that makes a batch just now, and since when
        self._ended = False
        self._thread = OwnThread(self._run, "torch-debugger samples")

    def begin(self) -> None:
        """This thread begins to make a batch."""
        self._in_progress = (threading.get_ident(), time.monotonic())

    def end(self) -> None:
        self._in_progress = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended = True
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def slowest(self) -> dict[str, Any] | None:
        if self.fault is not None:
            raise self.fault  # to the guard, who tells it
        return self._follower.slowest

    def _run(self) -> None:
        try:
            while not self._ended:
                time.sleep(PERIOD_S)
                in_progress = self._in_progress
                if in_progress is not None:
                    self._follower.look(in_progress[0], time.monotonic(), in_progress[1])
                else:
                    self._follower.rest(time.monotonic())
        except Exception as error:  # of a thread of ours: told by whoever asks it
            self.fault = error


# Inside of a forked worker: a thread that looks on, 20 times a second, and writes what it saw on the board.
#
# It sees which sample is being made and where, how much memory is the worker's own, and what gets longer there.
# Nothing here may end a worker, hold it up or draw a random number.
_WRITE_EVERY_S = 1.0
_NO_WORKER_AFTER_S = 10.0  # a process that was forked beside the workers: none of our business
_MOST_CONTAINERS = 8
_EARLY_LOOKS = 6  # at the memory, close together: short runs have no others
_EARLY_SHARE, _LATER_SHARE = 0.015, 0.003  # of the time, for these looks
_APART_S, _MOST_APART_S = 0.5, 30.0
_LEAST_GROWN = 8  # entries


class WorkerObserver:
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
            grown = self._grown[:_MOST_CONTAINERS]
            seen = {"pid": getpid(), **self._follower.told(), "memory": self._memory, "grown": grown}
            self._board.write(worker, seen)

    def _measure(self, dataset: Any) -> None:
        began = time.thread_time()
        memory = own_memory()
        if memory is not None:
            self._memory = [self._looks, *memory]
        with suppress(RuntimeError):  # the worker changed a dictionary meanwhile
            found = containers_of(dataset)
            first = self._lengths = self._lengths or {(each.owner, each.name): each.length for each in found}
            pairs = [(now, first.get((now.owner, now.name), 0)) for now in found]
            self._grown = [
                [now.owner, now.name, now.kind, before, now.length, now.entry_bytes, *now.made]
                for now, before in pairs
                if now.length - before >= _LEAST_GROWN
            ]
        took_s = time.thread_time() - began
        share = _EARLY_SHARE if self._looks < _EARLY_LOOKS else _LATER_SHARE
        apart_s = _APART_S if self._looks < _EARLY_LOOKS else min(_APART_S * self._looks, _MOST_APART_S)
        self._looks += 1
        self._look_at = time.monotonic() + max(apart_s, took_s / share)


# What each worker of a loader says of itself, in memory that it shares with the training.
#
# Made before the workers are forked. Nobody waits for anybody: a worker writes over what it wrote before, and what is
# read in the middle of that is not believed. What a worker said last is still there when it was killed.
_HEAD = struct.Struct("<II")  # length and checksum of the text


class WorkerBoard:
    SLOT_BYTES = 8192
    MOST_WORKERS = 64

    def __init__(self, workers: int) -> None:
        self.workers = min(workers, self.MOST_WORKERS)
        self._memory = mmap.mmap(-1, self.workers * self.SLOT_BYTES)

    def write(self, worker: int, progress: dict[str, Any]) -> None:
        text = dumps(progress).encode()
        if worker < self.workers and len(text) <= self.SLOT_BYTES - _HEAD.size:
            start = worker * self.SLOT_BYTES
            body = start + _HEAD.size
            self._memory[body : body + len(text)] = text
            self._memory[start:body] = _HEAD.pack(len(text), zlib.crc32(text))

    def read(self, worker: int) -> dict[str, Any] | None:
        """None where nothing is written yet, or just now."""
        if worker >= self.workers:
            return None
        start = worker * self.SLOT_BYTES
        body = start + _HEAD.size
        length, checksum = _HEAD.unpack(self._memory[start:body])
        if not 0 < length <= self.SLOT_BYTES - _HEAD.size:
            return None
        text = self._memory[body : body + length]
        if zlib.crc32(text) != checksum:
            return None
        progress: dict[str, Any] = loads(text)
        return progress
