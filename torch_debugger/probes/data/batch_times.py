"""How long each worker of a DataLoader is at work on a batch, and for which batches the training stands still.

Seen from the training process alone: when it asks a worker for a batch, and when it comes. The moment is known
where the training waits for it; where the batch lay ready, it took at most that long.
"""

from __future__ import annotations

import functools
import statistics
from collections import deque
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.data._utils.worker import _IterableDatasetStopIteration
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter

from torch_debugger.model.hooks import WeakKeysById
from torch_debugger.probes.data.loaders import AskedBatches, Loaders
from torch_debugger.probes.data.sample_progress import TrainingObserver, WorkerBoard
from torch_debugger.probes.data.workers import Stalls, WorkerBatch, WorkerBoards, sample_seen, samples_on, whole_indices
from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import WorkerTimes
from torch_debugger.records.data import WorkerTime
from torch_debugger.system.clocks import time
from torch_debugger.system.tracebacks import hidden_in_tracebacks

_BLOCKED_S = 0.001  # in the queue: the batch was not there yet


class BatchClocks(Probe):
    name = "batch clocks"
    after = ("WorkerBoards",)  # whose last reading finds the lines that the clocks tell
    APART_S = 0.5  # between two looks at the boards; all is told every second time

    def __init__(self, watch: Watch, loaders: Loaders, boards: WorkerBoards, stalls: Stalls) -> None:
        super().__init__(watch)
        self._deliveries = loaders.deliveries
        self._boards = boards
        self._passes: MutableMapping[Any, PassClock] = WeakKeysById()
        self._of_number: dict[int, LoaderClock] = {}
        self._stalls = stalls
        self._latest: PassClock | None = None
        self._follow_at = 0.0
        self._follows = 0
        loaders.on_pass_begin.append(functools.partial(watch.probe, self.name, self._begin))
        loaders.on_pass_end.append(functools.partial(watch.probe, self.name, self._end))
        loaders.asked = self.asked
        watch.between_steps.append(self._follow)

    def install(self, patches: Patches) -> None:
        patches.replace(_MultiProcessingDataLoaderIter, "_next_index", self._around_next_index)
        patches.replace(_MultiProcessingDataLoaderIter, "_get_data", self._around_get_data)

    def remove(self) -> None:
        self._tell_all()
        self._passes.clear()
        self._latest = None

    def asked(self) -> AskedBatches | None:
        """For a crash: what had been asked for in the last pass that began, and did not come."""
        latest = self._latest
        if latest is None:
            return None
        indices = {task: whole_indices(requested) for task, (_, requested) in latest.sent.items()}
        return AskedBatches(latest.pids, indices, samples_on(latest.board) if latest.board is not None else {})

    def _around_next_index(self, original: Any) -> Any:
        @functools.wraps(original)
        def _next_index(iterator: Any) -> Any:
            with hidden_in_tracebacks:
                index = original(iterator)
            self.watch.probe(self.name, self._sent, iterator, index)
            return index

        return _next_index

    def _around_get_data(self, original: Any) -> Any:
        @functools.wraps(original)
        def _get_data(iterator: Any) -> Any:
            start = time.monotonic()
            with hidden_in_tracebacks:
                found = original(iterator)
            self.watch.probe(self.name, self._came, iterator, found, start)
            return found

        return _get_data

    # A pass

    def _sent(self, iterator: Any, index: Any) -> None:
        """`_send_idx` is the number that the batch gets; a pass begins with 0."""
        task = iterator._send_idx
        known = self._passes.get(iterator)
        if known is None or (task == 0 and known.last):
            self._end(iterator)  # of a pass that was left before its end
            known = self._passes[iterator] = PassClock()
        known.sent[task] = (time.monotonic(), index)

    def _begin(self, loader: Any, iterator: Any, state: torch.Tensor) -> None:
        known = self._passes.get(iterator)
        number = self._deliveries.number_of(loader)
        if known is None or number > Loaders.LIMIT:
            return
        known.loader = self._of_number.setdefault(number, LoaderClock(number))
        known.loader.passes += 1
        known.delivered = self._boards.delivered(iterator)
        known.board = self._boards.board_of(iterator)
        known.pids = tuple(worker.pid for worker in iterator._workers)
        self._latest = known
        known.loader.in_order = bool(getattr(iterator, "_in_order", True))
        known.began = known.last = time.monotonic()

    def _end(self, iterator: Any) -> None:
        known = self._passes.get(iterator)
        if known is not None and known.loader is not None:
            known.loader.elapsed_s += known.last - known.began
            known.began = known.last

    def _came(self, iterator: Any, found: Any, start: float) -> None:
        """A batch came out of the queue."""
        task, data = found
        known = self._passes.get(iterator)
        if known is None or known.loader is None or type(task) is not int:
            return
        task_info = iterator._task_info.get(task)
        request = known.sent.pop(task, None)
        if task_info is None or request is None or isinstance(data, _IterableDatasetStopIteration):
            return
        now, worker, (sent, indices) = time.monotonic(), task_info[0], request
        waited_s = now - start  # at the queue
        known.last = now
        own = known.loader.workers.get(worker)
        if own is None:
            own = known.loader.workers[worker] = WorkerClock()
        own.batches += 1
        known.delivered[worker] = known.delivered.get(worker, 0) + 1
        if task >= iterator._num_workers:
            exact = waited_s >= _BLOCKED_S
            before, is_known = known.came.get(worker, (0.0, False))
            known.came[worker] = (now, exact)
            # Where the batch before lay ready for a while, this one was begun nobody knows when.
            if is_known or sent >= before:
                own.took.append((now - max(sent, before), exact))
            known.loader.at_most.append(now - sent)
        # While the next batch in order is missing, others come and are put aside.
        wanted = iterator._rcvd_idx if known.loader.in_order else task
        if wanted < iterator._num_workers:
            return  # a pass begins
        waited_s += known.waits.pop(wanted, 0.0)
        if task != wanted:
            known.waits[wanted] = waited_s
            return
        own.waited_s += waited_s
        took = known.loader.times() if waited_s >= Stalls.LEAST_S else []
        if self._stalls.is_one(waited_s, took):
            sample = self._boards.slow_sample(iterator, worker, task, sent)
            elapsed_s = known.loader.elapsed_s + known.last - known.began
            batch = WorkerBatch(known.loader.number, task, known.loader.passes, worker, elapsed_s)
            self._stalls.tell(batch, waited_s, took, indices, sample)

    # Telling

    def _follow(self, step: int, scalars: dict[str, float]) -> None:
        if time.monotonic() >= self._follow_at:
            self._follow_at = time.monotonic() + self.APART_S
            self._follows += 1
            self.watch.probe(self._boards.name, self._boards.read_some)
            if self._of_number and self._follows % 2:
                self.watch.probe(self.name, self._tell_all)

    def _tell_all(self) -> None:
        open_s: dict[int, float] = {}
        for known in self._passes.values():
            if known.loader is not None:
                before_s = open_s.get(known.loader.number, 0.0)
                open_s[known.loader.number] = before_s + known.last - known.began
        for number, loader in self._of_number.items():
            if len(loader.workers) < 2:
                continue
            workers = []
            for worker, clock in sorted(loader.workers.items()):
                exact = [seconds for seconds, is_exact in clock.took if is_exact]
                chosen = sorted(exact if len(exact) >= 5 else [seconds for seconds, _ in clock.took]) or [0.0]
                quarter = len(chosen) // 4
                place, share = self._boards.line_of(number, worker)
                workers.append(
                    WorkerTime(
                        worker=worker,
                        batches=clock.batches,
                        timed=len(exact),
                        making_s=statistics.median(chosen),
                        fast_s=chosen[quarter],
                        slow_s=chosen[-1 - quarter],
                        waited_s=clock.waited_s,
                        place=place,
                        place_share=share,
                    )
                )
            elapsed_s = loader.elapsed_s + open_s.get(number, 0.0)
            self.watch.emit(WorkerTimes(number, self.watch.step, elapsed_s, loader.in_order, tuple(workers)))


# What is noted of a pass over a loader with workers while its batches are asked for and come.
_KEPT = 400  # times of a worker


@dataclass
class WorkerClock:
    batches: int = 0
    waited_s: float = 0.0
    took: deque[tuple[float, bool]] = field(default_factory=lambda: deque(maxlen=_KEPT))  # (seconds, exact)


@dataclass
class LoaderClock:
    number: int
    passes: int = 0
    elapsed_s: float = 0.0  # of passes that are over
    in_order: bool = True
    workers: dict[int, WorkerClock] = field(default_factory=dict)
    at_most: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT))  # from asked for to come

    def times(self, enough: int = 8) -> list[float]:
        """That making a batch took: those that are known exactly, where there are enough of them. Where all
        batches lay ready, making one took less than the time since it was asked for."""
        took = [each for worker in self.workers.values() for each in worker.took]
        exact = [seconds for seconds, is_exact in took if is_exact]
        known = exact if len(exact) >= enough else [seconds for seconds, _ in took]
        return known if len(known) >= enough else list(self.at_most)


@dataclass
class PassClock:
    sent: dict[int, tuple[float, Any]] = field(default_factory=dict)  # task -> when, and its indices
    came: dict[int, tuple[float, bool]] = field(default_factory=dict)  # worker -> its last batch, exact?
    waits: dict[int, float] = field(default_factory=dict)  # task -> how long it has been waited for
    delivered: dict[int, int] = field(default_factory=dict)  # worker -> batches, of all passes of the iterator
    loader: LoaderClock | None = None
    pids: tuple[int, ...] = ()
    board: WorkerBoard | None = None
    began: float = 0.0
    last: float = 0.0


# Batches that the training process makes itself: how long each takes, and at which sample it stays.
_OWN_BATCHES_KEPT = 200  # times of a loader


@dataclass
class _Loader:
    number: int
    passes: int = 0
    elapsed_s: float = 0.0
    last: float = 0.0
    took: deque[float] = field(default_factory=lambda: deque(maxlen=_OWN_BATCHES_KEPT))


class OwnBatches(Probe):
    name = "own batches"

    def __init__(self, watch: Watch, loaders: Loaders, stalls: Stalls) -> None:
        super().__init__(watch)
        self._deliveries = loaders.deliveries
        self._stalls = stalls
        self._of_number: dict[int, _Loader] = {}
        self._of_iterator: MutableMapping[Any, _Loader] = WeakKeysById()
        self._attendant: TrainingObserver | None = None
        loaders.on_pass_begin.append(functools.partial(watch.probe, self.name, self._begin_pass))

    def install(self, patches: Patches) -> None:
        patches.replace(_SingleProcessDataLoaderIter, "_next_data", self._around_next_data)

    def remove(self) -> None:
        attendant, self._attendant = self._attendant, None
        if attendant is not None:
            attendant.stop()

    give_up = remove

    def _around_next_data(self, original: Any) -> Any:
        @functools.wraps(original)
        def _next_data(iterator: Any) -> Any:
            start = self.watch.probe(self.name, self._begin, iterator)
            if start is None:
                with hidden_in_tracebacks:
                    return original(iterator)
            try:
                with hidden_in_tracebacks:
                    batch = original(iterator)
            finally:
                attendant = self._attendant
                if attendant is not None:
                    attendant.end()
            self.watch.probe(self.name, self._made, iterator, start)
            return batch

        return _next_data

    def _begin_pass(self, loader: Any, iterator: Any, state: torch.Tensor) -> None:
        number = self._deliveries.number_of(loader)
        if number <= Loaders.LIMIT and isinstance(iterator, _SingleProcessDataLoaderIter):
            known = self._of_number.setdefault(number, _Loader(number))
            known.passes += 1
            known.last = time.monotonic()
            self._of_iterator[iterator] = known

    def _begin(self, iterator: Any) -> float | None:
        known = self._of_iterator.get(iterator)
        if known is None:
            return None
        if self._attendant is None and len(known.took) >= Stalls.KNOWN:
            self._attendant = TrainingObserver()
            self._attendant.start()
        if self._attendant is not None:
            self._attendant.begin()
        return time.monotonic()

    def _made(self, iterator: Any, start: float) -> None:
        known = self._of_iterator[iterator]
        now = time.monotonic()
        known.elapsed_s += now - known.last
        known.last = now
        took_s = now - start
        if took_s >= Stalls.LEAST_S and iterator._num_yielded and self._stalls.is_one(took_s, known.took):
            slow = self._attendant.slowest() if self._attendant is not None else None
            seen = slow is not None and slow["at"] >= start and slow["task"] == iterator._num_yielded
            sample = sample_seen(slow) if slow is not None and seen else None
            batch = WorkerBatch(known.number, iterator._num_yielded, known.passes, -1, known.elapsed_s)
            self._stalls.tell(batch, took_s, known.took, None, sample)
        known.took.append(took_s)
