"""A worker that ended without a word: how, at which sample, and what memory there was."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import re
import shutil
import signal
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch.utils.data import IterableDataset
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.clocks import time
from torch_debugger.probes.asked_batches import AskedBatches
from torch_debugger.probes.examiners.loading_order import batch_indices
from torch_debugger.probes.examiners.loading_refetch import Refetched, fetch_again
from torch_debugger.probes.examiners.loading_scene import Loading, find_loading, length_of, loading_of
from torch_debugger.probes.examiners.loading_use import for_statements, loader_in
from torch_debugger.probes.examiners.main_guard import unguarded_line
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place
from torch_debugger.records.evidence.loading import WorkerDeath
from torch_debugger.records.workers import SampleSeen
from torch_debugger.stats.memory import host_memory

_SHARED = "/dev/shm"
_GRACE_S = 0.1  # its connection breaks before its end can be asked for
_SAMPLES = 10_000
# Whatever took the memory must not take it a second time.
_NEVER_AGAIN = tuple(-number for number in (signal.SIGKILL, signal.SIGBUS, signal.SIGTERM, signal.SIGINT))


@dataclass(frozen=True)
class _End:
    """A worker's end, and what it still owed."""

    pids: tuple[int, ...]
    exit_code: int
    delivered: int | None = None
    waiting: dict[int, tuple[int, ...]] = field(default_factory=dict)
    worker: int | None = None
    spawned: bool = False


def find_dying_loader(scene: Scene) -> Loading | None:
    """A worker's end is heard of in a signal handler, wherever the script is; or while waiting for data."""
    handler = scene.innermost is not None and scene.innermost.function == "handler"
    at_signal = handler and scene.frame_of("handler", "signal_handling.py") is not None
    waiting = scene.frame_of("_try_get_data", "dataloader.py") is not None
    if not at_signal and not (waiting and not isinstance(scene.error, (TypeError, KeyError, ValueError))):
        return None
    loading = find_loading(scene)
    if loading is not None and getattr(loading.iterator, "_workers", None):
        return loading
    return next(itertools.chain(_alive(scene), _left_loops(scene)), None) if at_signal else None


def _alive(scene: Scene) -> Iterator[Loading]:
    """Iterators that somebody holds on to, of the worker that is spoken of."""
    end = _told_end(scene.error)
    pids = end.pids if end is not None else ()
    # type() and not isinstance: some objects in memory warn, or raise, when they are asked for their class.
    alive = [one for one in gc.get_objects() if issubclass(type(one), _MultiProcessingDataLoaderIter)]
    for iterator in alive:
        if any(worker.pid in pids for worker in getattr(iterator, "_workers", ())):
            yield loading_of(scene, iterator)


def _left_loops(scene: Scene) -> Iterator[Loading]:
    """An exception that leaves a loop lets go of its iterator, but not of a loader with a name."""
    for seen in reversed(scene.frames):
        for loop in for_statements(seen) if seen.user else ():
            loaders = [loader for _, loader in loader_in(loop.iter, seen) if loader.num_workers]
            yield from (Loading(None, loader.dataset, loader) for loader in loaders)


def worker_death(scene: Scene, loading: Loading) -> WorkerDeath | None:
    end = _seen_end(loading.iterator) if loading.iterator is not None else _told_end(scene.error)
    if end is None:
        return None
    end = _with_asked(end, scene.running.asked)
    seen = _seen_sample(end, scene.running.asked)
    again = _again(loading, end.waiting, end.exit_code)
    culprit, place = _culprit(again)
    named = [batch for batch, indices in end.waiting.items() if culprit in indices]
    return WorkerDeath(
        pids=end.pids,
        exit_code=end.exit_code,
        worker=end.worker,
        seen_at=seen.index if seen is not None else None,
        seen_place=seen.place if seen is not None else Place(),
        delivered=end.delivered,
        batch=next(iter(named or end.waiting), None),
        culprit=culprit,
        culprit_place=place,
        shared_free_bytes=_shared().free if _shared() else -1,
        shared_total_bytes=_shared().total if _shared() else -1,
        memory_free_bytes=host_memory()[1],
        batch_bytes=_batch_bytes(loading, again),
        unguarded=unguarded_line(scene) if end.spawned else Place(),
    )


def _seen_end(iterator: Any) -> _End | None:
    dead = _dead(iterator._workers)
    if not dead:
        return None
    number, worker = dead[0]
    return _End(
        pids=tuple(each.pid for _, each in dead),
        exit_code=worker.exitcode,
        delivered=int(iterator._num_yielded),
        waiting=_batches_at_work(iterator, number),
        worker=number,
        spawned=getattr(worker._popen, "method", "fork") != "fork",
    )


def _told_end(error: BaseException) -> _End | None:
    """With the iterator its processes are gone; torch's handler says which one it was, and how it ended."""
    told = re.search(r"pid (\d+)\).*?(?:exit code (\d+)|by signal: (.+?)\. )", str(error))
    if told is None:
        return None
    numbers = {signal.strsignal(number): number for number in signal.valid_signals()}
    exit_code = int(told[2]) if told[2] else -numbers.get(told[3], 0)
    return _End(pids=(int(told[1]),), exit_code=exit_code)


def _with_asked(end: _End, asked: AskedBatches | None) -> _End:
    """With what was noted when batches were asked for: a random order is kept nowhere else."""
    worker = asked.worker_of(end.pids[0]) if asked is not None else None
    if asked is None or worker is None:
        return end
    noted = asked.of_worker(worker)
    wanted = {batch: noted.get(batch, ()) or end.waiting.get(batch, ()) for batch in end.waiting or noted}
    return dataclasses.replace(end, worker=worker, waiting=wanted)


def _seen_sample(end: _End, asked: AskedBatches | None) -> SampleSeen | None:
    seen = asked.seen.get(end.worker) if asked is not None and end.worker is not None else None
    return seen[1] if seen is not None and seen[0] in end.waiting else None


def _dead(workers: Iterable[Any]) -> list[tuple[int, Any]]:
    deadline = time.monotonic() + _GRACE_S
    while True:
        found = [(number, worker) for number, worker in enumerate(workers) if worker.exitcode]
        if found or time.monotonic() > deadline:
            return found
        time.sleep(0.01)


def _batches_at_work(iterator: Any, worker: int) -> dict[int, tuple[int, ...]]:
    """The batches that were asked of the worker and have not come, with their samples where known."""
    info = iterator._task_info
    asked = sorted(batch for batch in info if info[batch][0] == worker and len(info[batch]) == 1)
    return {batch: batch_indices(iterator, batch) for batch in asked}


def _again(loading: Loading, waiting: dict[int, tuple[int, ...]], exit_code: int) -> Refetched:
    if is_a(loading.dataset, IterableDataset):
        return Refetched()
    known = [index for indices in waiting.values() for index in indices]
    indices: Sequence[int] = known or range(min(length_of(loading.dataset) or 0, _SAMPLES))
    return fetch_again(loading.dataset, indices[:1] if exit_code in _NEVER_AGAIN else indices)


def _culprit(again: Refetched) -> tuple[int | None, Place]:
    """The sample at which the fork ended as well."""
    if again.died:
        return again.stuck, again.place
    exits = [(index, raised.place) for index, raised in again.raised if raised.kind == "SystemExit"]
    return exits[0] if exits else (None, Place())


def _batch_bytes(loading: Loading, again: Refetched) -> int:
    size = getattr(loading.loader, "batch_size", None) or 1
    return again.forms[0][1].size_bytes * size if again.forms else -1


def _shared() -> Any:
    try:
        return shutil.disk_usage(_SHARED)
    except OSError:
        return None
