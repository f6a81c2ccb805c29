"""What a DataLoader and its workers were doing."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import errno
import io
import os
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import IterableDataset

from torch_debugger.crashes.capture import file_limit
from torch_debugger.crashes.frames import LiveCrash, LiveFrame
from torch_debugger.crashes.loading_dataloader import (
    FailedLoading,
    batch_indices,
    describe_loader,
    differing_part,
    failed_batch,
    find_loading,
    form_of,
    length_of,
)
from torch_debugger.crashes.loading_samples import Refetched, describe_raised, fetch_again, loader_call, loader_use
from torch_debugger.crashes.loading_workers import find_dying_loader, slow_batch, unpicklable_part, worker_death
from torch_debugger.crashes.processes import read_traceback
from torch_debugger.records import Place
from torch_debugger.records.crash_loading import LoadingEvidence, OpenFiles, Raised, SampleFailure
from torch_debugger.source.files import line_at, place_at, tree_of
from torch_debugger.source.objects import is_a, is_one_of


def examine_loading(crash: LiveCrash) -> LoadingEvidence | None:
    """Each looks for its own signs first; a full table of files is behind whatever else went wrong."""
    if (files := open_files(crash)) is not None:
        return LoadingEvidence(files=files)
    loading = find_loading(crash)
    if loading is not None and (failure := sample_failure(crash, loading)) is not None:
        return LoadingEvidence(describe_loader(crash, loading), failure=failure)
    if loading is not None and (slow := slow_batch(crash, loading)) is not None:
        return LoadingEvidence(describe_loader(crash, loading), slow=slow)
    dying = find_dying_loader(crash)
    if dying is not None and (death := worker_death(crash, dying)) is not None:
        return LoadingEvidence(describe_loader(crash, dying), death=death)
    if (part := unpicklable_part(crash)) is not None:
        return LoadingEvidence(unpicklable=part)
    if (made := loader_call(crash)) is not None:
        return LoadingEvidence(describe_loader(crash, made[1]), call=made[0])
    if (used := loader_use(crash)) is not None:
        return LoadingEvidence(describe_loader(crash, used[1]), use=used[0])
    return LoadingEvidence(describe_loader(crash, loading)) if loading is not None else None


# An exception while a batch was made, in this process or in a worker: which sample, which line.
_KEPT, _SAMPLES = 16, 100_000
_HEAD = re.compile(r"Caught (\w+) in DataLoader worker process (\d+)\.\nOriginal ")


def sample_failure(crash: LiveCrash, loading: FailedLoading) -> SampleFailure | None:
    """Either the frames go through torch's fetch.py, or they hand on what a worker caught."""
    names = ("fetch", "<listcomp>")
    fetching = [
        place for place, seen in enumerate(crash.frames) if seen.file.endswith("fetch.py") and seen.function in names
        and not seen.user
    ]  # fmt: skip
    if fetching:
        return _here(crash, loading, crash.frames[: fetching[-1] + 1], crash.frames[fetching[-1] + 1 :])
    handed_on = crash.innermost is not None and crash.innermost.function == "reraise"
    head = _HEAD.match(str(crash.error)) if handed_on else None
    _, message, frames = read_traceback(str(crash.error), sys.maxsize) if head is not None else ("", "", ())
    if head is None or not frames:
        return None
    fetches = [frame.code for frame in frames if frame.file.endswith("fetch.py")]
    stage = "start" if not fetches else "collate" if "collate_fn(" in fetches[-1] else "sample"
    # the innermost frame of the user's whose line is still what the text says
    users = [frame for frame in frames if frame.user and frame.code][-1:]
    user = next((frame for frame in users if line_at(frame.file, frame.line) == frame.code), None)
    place = place_at(user.file, user.line) if user is not None else Place()
    batch = failed_batch(crash, loading.iterator)
    indices = batch_indices(loading.iterator, batch)
    raised = Raised(head[1], message.partition("\n")[0][:300], place, user.function if user is not None else "")
    failure = SampleFailure(stage, raised, int(head[2]), batch, indices[:_KEPT])
    if stage == "start" or is_a(loading.dataset, IterableDataset):
        return failure
    every = range(min(length_of(loading.dataset) or 0, _SAMPLES))
    return _looked_again(failure, fetch_again(loading.dataset, indices or every))


def _here(
    crash: LiveCrash, loading: FailedLoading, until: Sequence[LiveFrame], inside: Sequence[LiveFrame]
) -> SampleFailure:
    fetch = next(seen for seen in reversed(until) if seen.function == "fetch")
    collating = "collate_fn(" in line_at(until[-1].file, until[-1].line)
    listed = fetch.locals.get("possibly_batched_index")
    listed = listed if is_a(listed, (list, tuple)) else [listed]
    indices = tuple(index for index in listed if type(index) is int)
    samples = fetch.locals.get("data")
    requested = until[-1].frame.f_locals.get("idx")
    failing = (requested,) if type(requested) is int and not collating else ()
    whole = samples if is_a(samples, list) and len(samples) == len(indices) and collating else []
    differing = (
        differing_part([(index, form_of(item)) for index, item in zip(indices, whole, strict=False)]) if whole else None
    )
    return SampleFailure(
        stage="collate" if collating else "sample",
        raised=describe_raised(crash.error, inside),
        batch=failed_batch(crash, loading.iterator),
        indices=indices[:_KEPT],
        failing=failing,
        odd=differing,
    )  # fmt: skip


def _looked_again(failure: SampleFailure, again: Refetched) -> SampleFailure:
    """Only what fails as the worker said is the same failure."""
    if failure.stage == "collate":
        differing = differing_part(again.forms) if again.forms else None
        return dataclasses.replace(failure, odd=differing, looked_at=again.looked_at)
    met = failure.raised
    alike = [(index, raised) for index, raised in again.raised if (raised.kind, raised.place) == (met.kind, met.place)]
    said = [(index, raised) for index, raised in alike if raised.message == failure.raised.message]
    if said and failure.indices and alike[0] != said[0]:
        alike = said  # the worker met this one first: since then the others have changed
    elif said:
        alike = [said[0], *(pair for pair in alike if pair != said[0])]
    return dataclasses.replace(
        failure,
        raised=alike[0][1] if alike else failure.raised,
        failing=tuple(index for index, _ in alike)[:_KEPT],
        looked_at=again.looked_at,
    )


# The open files of this process, counted without opening one, and the variable that keeps most of them.
_COUNTED, _ITEMS, _FEW = 65_536, 20_000, 8
_FILLING = ("append", "add", "extend", "appendleft", "setdefault", "update")


def open_files(crash: LiveCrash) -> OpenFiles | None:
    if not _is_about_files(crash):
        return None
    limit = file_limit()
    opened = 0
    for number in range(min(limit, _COUNTED)):
        with contextlib.suppress(OSError):
            os.fstat(number)
            opened += 1
    name, count, holds, place = max(_holders(crash), key=lambda found: found[1], default=("", 0, "", Place()))
    strategy = str(torch.multiprocessing.get_sharing_strategy())  # type: ignore[no-untyped-call]
    return OpenFiles(opened, limit, strategy, name, count, holds, place)


def _is_about_files(crash: LiveCrash) -> bool:
    error = crash.error
    if isinstance(error, OSError) and error.errno == errno.EMFILE:
        return True
    receiving = crash.frame_of("recvfds", "reduction.py") is not None
    waiting = crash.frame_of("_try_get_data", "dataloader.py") is not None
    return isinstance(error, RuntimeError) and (
        (receiving and "ancdata" in str(error)) or (waiting and str(error).startswith("Too many open files"))
    )


def _holders(crash: LiveCrash) -> Iterator[tuple[str, int, str, Place]]:
    for seen in crash.frames:
        for name, value in list(seen.locals.items()) if seen.user else ():
            for path, kept in _containers(name, value):
                shared, files = _count(kept)
                if max(shared, files) >= _FEW:
                    holds = "tensors" if shared >= files else "files"
                    yield path, max(shared, files), holds, _filling_line(seen, path, value)


def _containers(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The variable, and the lists and dicts an object of the user's keeps."""
    if is_one_of(value, (list, dict, set, deque)):
        yield name, value
    for attribute, kept in list(getattr(value, "__dict__", {}).items()) if not is_a(value, type) else ():
        if is_one_of(kept, (list, dict, set, deque)):
            yield f"{name}.{attribute}", kept


def _count(kept: Any) -> tuple[int, int]:
    leaves = [leaf for leaf, _ in zip(_leaves(kept), range(_ITEMS), strict=False)]
    shared = sum(
        is_a(leaf, torch.Tensor) and leaf.device.type == "cpu" and leaf.is_shared()  # type: ignore[no-untyped-call]
        for leaf in leaves
    )
    return shared, sum(is_a(leaf, io.IOBase) and not leaf.closed for leaf in leaves)


def _leaves(kept: Any, depth: int = 0) -> Iterator[Any]:
    inside: Iterable[Any] = kept.values() if type(kept) is dict else kept
    for item in list(inside):
        if is_one_of(item, (list, tuple, dict, set)) and depth < 3:
            yield from _leaves(item, depth + 1)
        else:
            yield item


def _filling_line(seen: LiveFrame, path: str, value: Any) -> Place:
    """The first line of the user's file that puts something into it."""
    file, name = seen.file, path.rpartition(".")[2]
    for node in ast.walk(tree_of(file) or ast.Module([], [])):
        target = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        if target is not None and target.attr in _FILLING and ast.unparse(target.value).rpartition(".")[2] == name:
            return place_at(file, node.lineno)  # type: ignore[attr-defined]
    return Place()
