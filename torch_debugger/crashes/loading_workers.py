"""A worker that ended without a word: how, at which sample, and what memory there was."""

from __future__ import annotations

import ast
import dataclasses
import functools
import gc
import io
import itertools
import os
import pickle
import re
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FunctionType, GeneratorType, MethodType
from typing import Any

import numpy
import torch
from torch.utils.data import IterableDataset
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from torch_debugger.crashes.frames import LiveCrash, kind_name
from torch_debugger.crashes.loading_dataloader import (
    FailedLoading,
    batch_indices,
    find_loading,
    length_of,
    loading_of,
    start_method,
)
from torch_debugger.crashes.loading_samples import Refetched, fetch_again, for_statements, loader_in
from torch_debugger.records import Place
from torch_debugger.records.crash_loading import SlowBatch, Unpicklable, WorkerDeath
from torch_debugger.source.constructors import class_place
from torch_debugger.source.files import covers, place_at, tree_of
from torch_debugger.source.objects import is_a
from torch_debugger.source.statements import attribute_place
from torch_debugger.stats.resources import host_memory
from torch_debugger.system.clocks import time

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


def find_dying_loader(crash: LiveCrash) -> FailedLoading | None:
    """A worker's end is heard of in a signal handler, wherever the script is; or while waiting for data."""
    handler = crash.innermost is not None and crash.innermost.function == "handler"
    at_signal = handler and crash.frame_of("handler", "signal_handling.py") is not None
    waiting = crash.frame_of("_try_get_data", "dataloader.py") is not None
    if not at_signal and not (waiting and not isinstance(crash.error, (TypeError, KeyError, ValueError))):
        return None
    loading = find_loading(crash)
    if loading is not None and getattr(loading.iterator, "_workers", None):
        return loading
    return next(itertools.chain(_alive(crash), _left_loops(crash)), None) if at_signal else None


def _alive(crash: LiveCrash) -> Iterator[FailedLoading]:
    """Iterators that somebody holds on to, of the worker that is spoken of."""
    end = _named_end(crash.error)
    pids = end.pids if end is not None else ()
    # type() and not isinstance: some objects in memory warn, or raise, when they are asked for their class.
    alive = [one for one in gc.get_objects() if issubclass(type(one), _MultiProcessingDataLoaderIter)]
    for iterator in alive:
        if any(worker.pid in pids for worker in getattr(iterator, "_workers", ())):
            yield loading_of(crash, iterator)


def _left_loops(crash: LiveCrash) -> Iterator[FailedLoading]:
    """An exception that leaves a loop lets go of its iterator, but not of a loader with a name."""
    for seen in reversed(crash.frames):
        for loop in for_statements(seen) if seen.user else ():
            loaders = [loader for _, loader in loader_in(loop.iter, seen) if loader.num_workers]
            yield from (FailedLoading(None, loader.dataset, loader) for loader in loaders)


def worker_death(crash: LiveCrash, loading: FailedLoading) -> WorkerDeath | None:
    end = _seen_end(loading.iterator) if loading.iterator is not None else _named_end(crash.error)
    if end is None:
        return None
    requests, seen = crash.running.asked, None
    worker = requests.worker_of(end.pids[0]) if requests is not None else None
    if requests is not None and worker is not None:
        # What was noted when batches were asked for: a random order is kept nowhere else.
        noted = requests.of_worker(worker)
        wanted = {batch: noted.get(batch, ()) or end.waiting.get(batch, ()) for batch in end.waiting or noted}
        end = dataclasses.replace(end, worker=worker, waiting=wanted)
    if requests is not None and end.worker is not None and (last := requests.seen.get(end.worker)) is not None:
        seen = last[1] if last[0] in end.waiting else None
    again = Refetched()
    if not is_a(loading.dataset, IterableDataset):
        known = [index for indices in end.waiting.values() for index in indices]
        indices: Sequence[int] = known or range(min(length_of(loading.dataset) or 0, _SAMPLES))
        again = fetch_again(loading.dataset, indices[:1] if end.exit_code in _NEVER_AGAIN else indices)
    # the sample at which the fork ended as well
    exits = [(index, raised.place) for index, raised in again.raised if raised.kind == "SystemExit"]
    culprit, place = (again.stuck, again.place) if again.died else exits[0] if exits else (None, Place())
    named = [batch for batch, indices in end.waiting.items() if culprit in indices]
    shared_free, shared_total = _shared()
    size = getattr(loading.loader, "batch_size", None) or 1
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
        shared_free_bytes=shared_free,
        shared_total_bytes=shared_total,
        memory_free_bytes=host_memory()[1],
        batch_bytes=again.forms[0][1].size_bytes * size if again.forms else -1,
        unguarded=unguarded_line(crash) if end.spawned else Place(),
    )


def _shared() -> tuple[int, int]:
    """Free and total bytes of what worker processes hand batches over by."""
    try:
        usage = shutil.disk_usage(_SHARED)
    except OSError:
        return -1, -1
    return usage.free, usage.total


def _named_end(error: BaseException) -> _End | None:
    """With the iterator its processes are gone; torch's handler says which one it was, and how it ended."""
    found = re.search(r"pid (\d+)\).*?(?:exit code (\d+)|by signal: (.+?)\. )", str(error))
    if found is None:
        return None
    numbers = {signal.strsignal(number): number for number in signal.valid_signals()}
    return _End(pids=(int(found[1]),), exit_code=int(found[2]) if found[2] else -numbers.get(found[3], 0))


def _seen_end(iterator: Any) -> _End | None:
    dead = _dead(iterator._workers)
    if not dead:
        return None
    number, worker = dead[0]
    # the batches that were asked of the worker and have not come
    info = iterator._task_info
    pending = sorted(batch for batch in info if info[batch][0] == number and len(info[batch]) == 1)
    return _End(
        pids=tuple(each.pid for _, each in dead),
        exit_code=worker.exitcode,
        delivered=int(iterator._num_yielded),
        waiting={batch: batch_indices(iterator, batch) for batch in pending},
        worker=number,
        spawned=getattr(worker._popen, "method", "fork") != "fork",
    )


def _dead(workers: Iterable[Any]) -> list[tuple[int, Any]]:
    deadline = time.monotonic() + _GRACE_S
    while True:
        found = [(number, worker) for number, worker in enumerate(workers) if worker.exitcode]
        if found or time.monotonic() > deadline:
            return found
        time.sleep(0.01)


# A batch that did not come in time: whose it was, and where its samples spend their time.
def slow_batch(crash: LiveCrash, loading: FailedLoading) -> SlowBatch | None:
    seen = crash.innermost
    timeout_s = getattr(loading.iterator, "_timeout", 0)
    raised = seen is not None and seen.function == "_get_data" and seen.file.endswith("dataloader.py")
    if not raised or not timeout_s or "timed out" not in str(crash.error):
        return None
    batch = getattr(loading.iterator, "_rcvd_idx", None)
    info = loading.iterator._task_info.get(batch, (None,))
    indices = batch_indices(loading.iterator, batch)
    if is_a(loading.dataset, IterableDataset) or not indices:
        return SlowBatch(float(timeout_s), info[0], batch)
    again = fetch_again(loading.dataset, indices)
    waiting = again.stuck if not again.died else None
    return SlowBatch(float(timeout_s), info[0], batch, waiting, again.place)


# The very part of an object that pickle refuses, found by trying its parts. Nothing is kept or shared.
_BUDGET_S, _ITEMS, _DEPTH = 0.4, 1000, 8
_REFUSALS = (pickle.PicklingError, AttributeError, TypeError)


class _Trying(pickle.Pickler):
    """Tensors, arrays and what belongs to multiprocessing are left out: they have ways of their own."""

    def persistent_id(self, value: Any) -> str | None:
        data = is_a(value, (torch.Tensor, torch.UntypedStorage, numpy.ndarray))
        return "kept" if data or type(value).__module__.partition(".")[0] == "multiprocessing" else None

    @classmethod
    def succeeds(cls, value: Any) -> bool:
        try:
            cls(_Nowhere(), pickle.HIGHEST_PROTOCOL).dump(value)
        except Exception:  # whatever the user's own __reduce__ raises is a refusal as well
            return False
        return True


class _Nowhere(io.RawIOBase):
    def write(self, data: Any) -> int:
        return len(data)


def unpicklable_part(crash: LiveCrash) -> Unpicklable | None:
    roots, sender, method = _sent(crash) if is_a(crash.error, _REFUSALS) else ([], "", "")
    found = _search(roots, time.monotonic() + _BUDGET_S, 0)
    if found is None:
        return None
    path, value, made = found
    kind, name = _kind(value)
    return Unpicklable(sender, path, kind, name, _made(value) or made, method)


Part = tuple[str, Any, Place]


def _sent(crash: LiveCrash) -> tuple[list[Part], str, str]:
    """What was being pickled, for whom, and how the process is started."""
    saving = crash.frame_of("save", os.path.join("torch", "serialization.py"))
    if saving is not None:
        return [("", saving.locals.get("obj"), Place())], "torch.save", ""
    if crash.frame_of("dump", os.path.join("multiprocessing", "reduction.py")) is None:
        return [], "", ""
    loader = crash.frame_of("__init__", "dataloader.py")
    starting = loader.locals.get("self") if loader is not None else None
    if starting is not None and hasattr(starting, "_worker_init_fn"):
        names = ("dataset", "collate_fn", "worker_init_fn")
        parts = [(name, getattr(starting, f"_{name}"), Place()) for name in names]
        making = crash.frame_of("_get_iterator", "dataloader.py")
        owner = making.locals.get("self") if making is not None else None
        return parts, "DataLoader", start_method(getattr(owner, "multiprocessing_context", None))
    start = crash.frame_of("start", os.path.join("multiprocessing", "process.py"))
    process = start.locals.get("self") if start is not None else None
    parts = [("target", getattr(process, "_target", None), Place())]
    parts += [(f"args[{place}]", item, Place()) for place, item in enumerate(getattr(process, "_args", ()))]
    return parts, "Process", str(getattr(process, "_start_method", "") or "")


def _search(parts: Iterator[Part] | list[Part], deadline: float, depth: int) -> Part | None:
    """The innermost part that cannot be pickled by itself."""
    for path, value, made in parts:
        if time.monotonic() > deadline or depth > _DEPTH:
            return None
        if not _Trying.succeeds(value):
            return _search(_inside(path, value), deadline, depth + 1) or (path, value, made)
    return None


def _inside(path: str, value: Any) -> Iterator[Part]:
    if is_a(value, dict):
        items = zip(range(_ITEMS), list(value.items()), strict=False)
        yield from ((f"{path}[{key!r}]", item, Place()) for _, (key, item) in items)
    elif is_a(value, (list, tuple, set, frozenset)):
        yield from ((f"{path}[{place}]", item, Place()) for place, item in zip(range(_ITEMS), value, strict=False))
    elif is_a(value, functools.partial):
        yield from ((f"{path}.{name}", getattr(value, name), Place()) for name in ("func", "args", "keywords"))
    elif is_a(value, MethodType):
        yield path, value.__self__, Place()
    elif not is_a(value, (FunctionType, type)):
        # what a class of the user's sends instead of its attributes is not known
        own_state = getattr(type(value), "__getstate__", None) is not getattr(object, "__getstate__", None)
        is_known = is_a(value, torch.nn.Module) or not own_state
        for name, item in list(getattr(value, "__dict__", {}).items()) if is_known else ():
            parts = item.items() if name == "_modules" else [(name, item)]
            for key, part in parts:
                yield f"{path}.{key}", part, attribute_place(type(value), key) or Place()


def _kind(value: Any) -> tuple[str, str]:
    if is_a(value, FunctionType):
        return ("lambda", "") if value.__name__ == "<lambda>" else ("local function", value.__name__)
    if is_a(value, type):
        return "local class", value.__name__
    if _is_lost(type(value)):
        return "local class", type(value).__name__
    if is_a(value, io.IOBase):
        return "open file", str(getattr(value, "name", ""))
    if is_a(value, GeneratorType):
        return "generator", value.__name__
    return ("lock", "") if type(value).__module__ == "_thread" else (kind_name(type(value)), "")


def _made(value: Any) -> Place:
    """Where a function or class is written; other values are known by the line that keeps them."""
    if is_a(value, FunctionType):
        return place_at(value.__code__.co_filename, value.__code__.co_firstlineno)
    cls = value if is_a(value, type) else type(value)
    return class_place(cls) if _is_lost(cls) else Place()


def _is_lost(cls: type) -> bool:
    """Not to be found under its own name, which is how pickle looks for it."""
    return getattr(sys.modules.get(cls.__module__), cls.__qualname__, None) is not cls


# Whether a script that starts processes does so outside `if __name__ == "__main__":`.
_MAIN = ("__main__", "__mp_main__")


def unguarded_line(crash: LiveCrash) -> Place:
    """The script's line of the traceback, where no `if` of the file's top level stands around it."""
    frames = [(seen.frame, seen.line) for seen in crash.frames if seen.user]
    # an exception caught on its way has only the inner ones
    outer = crash.frames[0].frame.f_back if crash.frames else None
    while outer is not None:
        frames.append((outer, outer.f_lineno))
        outer = outer.f_back
    for frame, line in frames:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") in _MAIN:
            file = frame.f_code.co_filename
            holding = [node for node in (tree_of(file) or ast.Module([], [])).body if covers(node, line)]
            guarded = not holding or isinstance(holding[0], ast.If | ast.Try | ast.Match)
            return Place() if guarded else place_at(file, line)
    return Place()
