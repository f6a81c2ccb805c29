"""The boards on which workers of loaders write what they see of themselves, and what is read from them.

Workers that are forked get a thread that writes; others begin as other programs do, without us.
"""

from __future__ import annotations

import functools
import os
import statistics
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field
from os import getpid
from typing import Any, NamedTuple

import torch
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from torch_debugger.model.hooks import WeakKeysById
from torch_debugger.probes.data.loaders import Loaders
from torch_debugger.probes.data.sample_progress import WorkerBoard, WorkerObserver
from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, SharedHandle, StalledBatch, WorkerLook
from torch_debugger.records.data import GrownContainer, SampleSeen
from torch_debugger.source.assignments import addition_to
from torch_debugger.source.datasets import OpenHandle, dataset_parts, open_handles, position_of
from torch_debugger.source.files import class_source, place_at
from torch_debugger.source.objects import is_a
from torch_debugger.stats.resources import host_memory
from torch_debugger.system.clocks import time
from torch_debugger.system.tracebacks import hidden_in_tracebacks

_starting: WorkerBoards | None = None  # while a loader starts its workers


@dataclass
class _Board:
    board: WorkerBoard
    loader: int = 0  # LoaderFact.number, once the pass has begun
    looks: dict[int, int] = field(default_factory=dict)  # worker -> the last of its looks that was told
    delivered: dict[int, int] = field(default_factory=dict)  # worker -> batches, counted by whoever times them


class WorkerBoards(Probe):
    name = "workers"
    READ_EVERY_S, MOST_APART_S = 0.5, 15.0  # each reading is half as far again from the last
    TOLD = 2000  # looks

    def __init__(self, watch: Watch, loaders: Loaders) -> None:
        super().__init__(watch)
        self.pid = getpid()
        self.making: WorkerBoard | None = None
        self._boards: MutableMapping[Any, _Board] = WeakKeysById()
        self._lines: dict[tuple[int, int], tuple[Place, float, int]] = {}  # by loader and worker
        self._apart_s = self.READ_EVERY_S
        self._read_at = 0.0
        self._reports = 0
        self._fault = ""  # of a thread in a worker
        self._loaders = loaders
        # Through the guard, under this name: a fault here is none of the loaders'.
        loaders.on_pass_begin.append(functools.partial(watch.probe, self.name, self._begin))
        loaders.on_pass_end.append(functools.partial(watch.probe, self.name, self._end))

    def install(self, patches: Patches) -> None:
        patches.replace(_MultiProcessingDataLoaderIter, "__init__", self._around_start)

    def remove(self) -> None:
        for iterator, known in list(self._boards.items()):
            self._read(iterator, known)
        self._boards.clear()
        self._raise_fault()

    def give_up(self) -> None:
        self._boards.clear()

    def delivered(self, iterator: Any) -> dict[int, int]:
        """To count in: worker -> batches."""
        known = self._boards.get(iterator)
        return known.delivered if known is not None else {}

    def slow_sample(self, iterator: Any, worker: int, task: int, since: float) -> SampleSeen | None:
        """The sample that the worker was at longest while it made this batch."""
        seen = self._of(iterator, worker)
        slow = seen.get("slow") if seen is not None else None
        if slow is None or slow["task"] != task or slow["at"] < since:
            return None
        return sample_seen(slow)

    def board_of(self, iterator: Any) -> WorkerBoard | None:
        known = self._boards.get(iterator)
        return known.board if known is not None else None

    def line_of(self, loader: int, worker: int) -> tuple[Place, float]:
        """The user's line that this worker was at most often, and how often."""
        place, share, _ = self._lines.get((loader, worker), (Place(), 0.0, 0))
        return place, share

    def _of(self, iterator: Any, worker: int) -> dict[str, Any] | None:
        known = self._boards.get(iterator)
        seen = known.board.read(worker) if known is not None else None
        if seen is not None and "fault" in seen:
            self._fault = self._fault or f"in worker {worker}: {seen['fault']}"
            return None
        return seen

    def _raise_fault(self) -> None:
        """To the guard, who tells it and takes this probe off; asked only where it is this one's guard."""
        if self._fault:
            fault, self._fault = self._fault, ""
            raise RuntimeError(fault)

    # The start of workers

    def _around_start(self, original: Any) -> Any:
        @functools.wraps(original)
        def __init__(iterator: Any, loader: Any, *rest: Any, **keywords: Any) -> None:  # noqa: N807
            global _starting
            board = self.watch.probe(self.name, self._prepare, loader)
            self.making = board
            _starting = self if board is not None else None
            try:
                with hidden_in_tracebacks:
                    original(iterator, loader, *rest, **keywords)
            finally:
                _starting = self.making = None
            if board is not None:
                self.watch.probe(self.name, self._boards.__setitem__, iterator, _Board(board))

        return __init__

    def _prepare(self, loader: Any) -> WorkerBoard | None:
        if getpid() != self.pid:  # a fork, with loaders of its own
            return None
        dataset_parts(loader.dataset)  # reads the source once for all workers
        _listen_for_forks()
        return WorkerBoard(loader.num_workers)

    # Reading

    def _begin(self, loader: Any, iterator: Any, state: torch.Tensor) -> None:
        known = self._boards.get(iterator)
        if known is not None:
            known.loader = self._loaders.deliveries.number_of(loader)

    def _end(self, iterator: Any) -> None:
        known = self._boards.get(iterator)
        if known is not None:
            self._read(iterator, known)

    def read_some(self) -> None:
        """Asked between steps, about twice a second."""
        if self._boards and time.monotonic() >= self._read_at:
            for iterator, known in list(self._boards.items()):
                self._read(iterator, known)
            self._read_at = time.monotonic() + self._apart_s
            self._apart_s = min(1.5 * self._apart_s, self.MOST_APART_S)
            self._raise_fault()

    def _read(self, iterator: Any, known: _Board) -> None:
        if not known.loader or known.loader > Loaders.LIMIT:
            return
        for worker in range(known.board.workers):
            seen = self._of(iterator, worker)
            if seen is None:
                continue
            looks, before = seen["looks"], self._lines.get((known.loader, worker))
            if seen["lines"] and (before is None or looks >= before[2]):
                (file, line, _), count = seen["lines"][0]
                self._lines[known.loader, worker] = (place_at(file, line), count / looks, looks)
            self._tell(iterator, known, worker, seen)

    def _tell(self, iterator: Any, known: _Board, worker: int, seen: dict[str, Any]) -> None:
        look = seen["memory"]
        if look is None or known.looks.get(worker, -1) >= look[0] or self._reports >= self.TOLD:
            return
        known.looks[worker] = look[0]
        self._reports += 1
        grown = []
        for owner, name, kind, before, length, entry_bytes, file, line in seen["grown"]:
            place = place_at(file, line) if file else Place()
            if not file:  # the line that adds to it
                classes = [type(part) for part in dataset_parts(iterator._dataset)]
                named = [each for each in classes if each.__name__ == owner] or classes
                sources = [source for source in map(class_source, named) if source is not None]
                place = addition_to(sources[0][0], name)[0] if sources else Place()
            grown.append(GrownContainer(name, owner, kind, before, length, entry_bytes, place))
        self.watch.emit(
            WorkerLook(
                loader=known.loader,
                step=self.watch.step,
                worker=worker,
                pid=seen["pid"],
                batches=known.delivered.get(worker, 0),
                own_bytes=look[1],
                resident_bytes=look[2],
                free_bytes=host_memory()[1],
                grown=tuple(grown),
            )
        )


@functools.cache  # once in a process
def _listen_for_forks() -> None:
    os.register_at_fork(after_in_child=_forked)


def _forked() -> None:
    """In the child. One that a worker forks in its turn is left alone."""
    global _starting
    begun, _starting = _starting, None
    if begun is not None and begun.making is not None:
        WorkerObserver(begun.making, begun.pid).start()


# Batches that the training waits for far longer than for others.
class WorkerBatch(NamedTuple):
    loader: int  # LoaderFact.number
    number: int
    iteration: int
    worker: int
    elapsed_s: float


class Stalls:
    LEAST_S = 0.25
    TIMES = 8.0  # as long as making a batch takes
    KNOWN = 8  # batches, before one is called unusual
    TOLD = 60
    INDICES = 64

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._reports = 0

    def is_one(self, waited_s: float, took: Sequence[float]) -> bool:
        """`took` are the times that making other batches took."""
        usual = len(took) < self.KNOWN or waited_s < self.LEAST_S or self._reports >= self.TOLD
        return not usual and waited_s >= self.TIMES * statistics.median(took)

    def tell(
        self, batch: WorkerBatch, waited_s: float, took: Sequence[float], indices: Any, sample: SampleSeen | None
    ) -> None:
        self._reports += 1
        self.watch.emit(
            StalledBatch(
                loader=batch.loader,
                step=self.watch.step,
                number=batch.number,
                iteration=batch.iteration,
                worker=batch.worker,
                waited_s=waited_s,
                typical_s=statistics.median(took),
                elapsed_s=batch.elapsed_s,
                indices=whole_indices(indices)[: self.INDICES],
                sample=sample,
            )
        )


def sample_seen(slow: dict[str, Any]) -> SampleSeen:
    """As a follower of samples tells it."""
    file, line, function = slow["line"] or ("", 0, "")
    place = place_at(file, line) if file else Place()
    named, size = slow["file"]
    return SampleSeen(slow["index"], slow["dataset"], slow["seconds"], place, function, named, size)


def samples_on(board: WorkerBoard) -> dict[int, tuple[int, SampleSeen]]:
    """By worker: the last batch of its that had a slow sample, and that sample."""
    seen = {worker: board.read(worker) for worker in range(board.workers)}
    slow = {worker: each.get("slow") for worker, each in seen.items() if each is not None}
    return {worker: (each["task"], sample_seen(each)) for worker, each in slow.items() if each}


def whole_indices(indices: Any) -> tuple[int, ...]:
    listed = indices if is_a(indices, (list, tuple)) else [indices]
    return tuple(listed) if all(type(index) is int for index in listed) else ()


# Files that a dataset opened before its workers were forked: whether their position moves while those load.
#
# A forked process shares the position of an open file with all others. Where it moves although the training process
# does not read, workers move it for each other.
@dataclass
class _Followed:
    loader: int
    workers: int
    handle: OpenHandle
    position: tuple[int, int, int] | None
    moves: int = 0


class SharedHandles(Probe):
    name = "shared handles"
    ENOUGH = 3  # moves; at the end of the run, one: a worker may have ended it
    LOOKS = 1000  # steps

    def __init__(self, watch: Watch, loaders: Loaders) -> None:
        super().__init__(watch)
        self.loaders = loaders
        self._looked: set[int] = set()
        self._followed: list[_Followed] = []
        self._looks = 0
        loaders.on_pass_begin.append(functools.partial(watch.probe, self.name, self._begin))
        loaders.on_pass_end.append(functools.partial(watch.probe, self.name, self._end))

    def remove(self) -> None:
        self._compare()
        for followed in self._followed:
            if followed.moves:
                self._tell(followed, followed.moves)
        self._followed.clear()

    def give_up(self) -> None:
        self._followed.clear()

    def _begin(self, loader: Any, iterator: Any, state: torch.Tensor) -> None:
        number = self.loaders.deliveries.number_of(loader)
        workers: list[Any] = getattr(iterator, "_workers", [])
        is_forked = bool(workers) and getattr(getattr(workers[0], "_popen", None), "method", "") == "fork"
        if loader.num_workers < 2 or number in self._looked or not is_forked:
            return
        self._looked.add(number)
        begin = loader.worker_init_fn
        code = getattr(begin, "__code__", None)
        for handle in open_handles(loader.dataset):
            followed = _Followed(number, loader.num_workers, handle, position_of(handle.descriptor))
            # The function that workers begin with may open it anew.
            is_opened = begin is not None and (code is None or handle.attribute in code.co_names)
            if handle.descriptor >= 0:
                if not self._followed and not self._looks:
                    self.watch.between_steps.append(self._look)
                self._followed.append(followed)
            elif not handle.reopened and not is_opened:
                self._tell(followed, -1)

    def _look(self, step: int, scalars: dict[str, float]) -> None:
        if self._followed and self._looks < self.LOOKS:
            self._looks += 1
            self.watch.probe(self.name, self._compare)

    def _compare(self) -> None:
        for followed in list(self._followed):
            before, now = followed.position, position_of(followed.handle.descriptor)
            if before is None or now is None or before[:2] != now[:2]:
                self._followed.remove(followed)  # it is closed, and will not move any more
                if followed.moves:
                    self._tell(followed, followed.moves)
                continue
            followed.moves += before != now
            followed.position = now
            if followed.moves >= self.ENOUGH:
                self._followed.remove(followed)
                self._tell(followed, followed.moves)

    def _end(self, iterator: Any) -> None:
        if self._followed:
            self._compare()

    def _tell(self, followed: _Followed, moves: int) -> None:
        handle = followed.handle
        self.watch.emit(
            SharedHandle(
                loader=followed.loader,
                step=self.watch.step,
                workers=followed.workers,
                owner=handle.owner,
                attribute=handle.attribute,
                kind=handle.kind,
                file=handle.file,
                moves=moves,
                opened=handle.opened,
                used=handle.used,
            )
        )
