"""What a DataLoader and its workers were doing."""

from __future__ import annotations

import ast
import dataclasses
import errno
import io
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import IterableDataset

from torch_debugger.crashes.capture import file_limit
from torch_debugger.crashes.frames import LiveCrash, Seen
from torch_debugger.crashes.loading_dataloader import (
    Loading,
    batch_indices,
    describe_loader,
    failed_batch,
    find_loading,
    form_of,
    length_of,
    odd_part,
)
from torch_debugger.crashes.loading_samples import Refetched, describe_raised, fetch_again, loader_call, loader_use
from torch_debugger.crashes.loading_workers import find_dying_loader, slow_batch, unpicklable_part, worker_death
from torch_debugger.records import Place
from torch_debugger.records.crash_loading import LoadingEvidence, OpenFiles, Raised, SampleFailure
from torch_debugger.source.files import is_user_file, line_at, place_at, tree_of
from torch_debugger.source.objects import is_a, is_one_of


def examine_loading(crash: LiveCrash) -> LoadingEvidence | None:
    return next(_found(crash), None)


def _found(crash: LiveCrash) -> Iterator[LoadingEvidence]:
    """Each looks for its own signs first; a full table of files is behind whatever else went wrong."""
    if (files := open_files(crash)) is not None:
        yield LoadingEvidence(files=files)
    loading = find_loading(crash)
    if loading is not None:
        yield from _while_reading(crash, loading)
    dying = find_dying_loader(crash)
    death = worker_death(crash, dying) if dying is not None else None
    if dying is not None and death is not None:
        yield LoadingEvidence(describe_loader(crash, dying), death=death)
    if (part := unpicklable_part(crash)) is not None:
        yield LoadingEvidence(unpicklable=part)
    yield from _in_the_line(crash)
    if loading is not None:
        yield LoadingEvidence(describe_loader(crash, loading))


def _while_reading(crash: LiveCrash, loading: Loading) -> Iterator[LoadingEvidence]:
    if (failure := sample_failure(crash, loading)) is not None:
        yield LoadingEvidence(describe_loader(crash, loading), failure=failure)
    if (slow := slow_batch(crash, loading)) is not None:
        yield LoadingEvidence(describe_loader(crash, loading), slow=slow)


def _in_the_line(crash: LiveCrash) -> Iterator[LoadingEvidence]:
    if (made := loader_call(crash)) is not None:
        yield LoadingEvidence(describe_loader(crash, made[1]), call=made[0])
    if (used := loader_use(crash)) is not None:
        yield LoadingEvidence(describe_loader(crash, used[1]), use=used[0])


# An exception while a batch was made, in this process or in a worker: which sample, which line.
_KEPT, _SAMPLES = 16, 100_000


def sample_failure(crash: LiveCrash, loading: Loading) -> SampleFailure | None:
    """Either the frames go through torch's fetch.py, or they hand on what a worker caught."""
    fetching = [place for place, seen in enumerate(crash.frames) if _is_fetch(seen)]
    if fetching:
        return _here(crash, loading, crash.frames[: fetching[-1] + 1], crash.frames[fetching[-1] + 1 :])
    handed_on = crash.innermost is not None and crash.innermost.function == "reraise"
    told = read_worker_text(str(crash.error)) if handed_on else None
    return _in_worker(crash, loading, told) if told is not None else None


def _is_fetch(seen: Seen) -> bool:
    return seen.file.endswith("fetch.py") and seen.function in ("fetch", "<listcomp>") and not seen.user


def _here(crash: LiveCrash, loading: Loading, until: Sequence[Seen], inside: Sequence[Seen]) -> SampleFailure:
    fetch = next(seen for seen in reversed(until) if seen.function == "fetch")
    collating = "collate_fn(" in line_at(until[-1].file, until[-1].line)
    indices = _indices(fetch.locals.get("possibly_batched_index"))
    samples = fetch.locals.get("data")
    asked = until[-1].frame.f_locals.get("idx")
    failing = (asked,) if type(asked) is int and not collating else ()
    whole = samples if is_a(samples, list) and len(samples) == len(indices) and collating else []
    odd = odd_part([(index, form_of(item)) for index, item in zip(indices, whole, strict=False)]) if whole else None
    return SampleFailure(
        stage="collate" if collating else "sample",
        raised=describe_raised(crash.error, inside),
        batch=failed_batch(crash, loading.iterator),
        indices=indices[:_KEPT],
        failing=failing,
        odd=odd,
    )  # fmt: skip


def _indices(held: Any) -> tuple[int, ...]:
    listed = held if is_a(held, (list, tuple)) else [held]
    return tuple(index for index in listed if type(index) is int)


def _in_worker(crash: LiveCrash, loading: Loading, told: WorkerText) -> SampleFailure:
    batch = failed_batch(crash, loading.iterator)
    indices = batch_indices(loading.iterator, batch)
    frame = told.user_frame
    raised = Raised(told.kind, told.message, told.place, frame.function if frame else "")
    failure = SampleFailure(told.stage, raised, told.worker, batch, indices[:_KEPT])
    if told.stage == "start" or is_a(loading.dataset, IterableDataset):
        return failure
    return _looked_again(failure, fetch_again(loading.dataset, indices or _all(loading.dataset)))


def _all(dataset: Any) -> Iterable[int]:
    return range(min(length_of(dataset) or 0, _SAMPLES))


def _looked_again(failure: SampleFailure, again: Refetched) -> SampleFailure:
    """Only what fails as the worker said is the same failure."""
    if failure.stage == "collate":
        odd = odd_part(again.forms) if again.forms else None
        return dataclasses.replace(failure, odd=odd, looked_at=again.looked_at)
    alike = [(index, raised) for index, raised in again.raised if _same(raised, failure.raised)]
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


def _same(raised: Raised, told: Raised) -> bool:
    return raised.kind == told.kind and raised.place == told.place


# A worker's traceback, which reaches the main process only as text.
_HEAD = re.compile(r"Caught (\w+) in DataLoader worker process (\d+)\.\nOriginal ")
_FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)\n    (.*)$', re.MULTILINE)
_START = "Traceback (most recent call last):\n"


@dataclass(frozen=True)
class TextFrame:
    file: str
    line: int
    function: str
    code: str


@dataclass(frozen=True)
class WorkerText:
    """What the text tells: the frames of the exception that was raised last, the outermost first."""

    kind: str
    worker: int
    frames: tuple[TextFrame, ...]
    message: str

    @property
    def stage(self) -> str:
        fetching = [frame.code for frame in self.frames if frame.file.endswith("fetch.py")]
        if not fetching:
            return "start"
        return "collate" if "collate_fn(" in fetching[-1] else "sample"

    @property
    def user_frame(self) -> TextFrame | None:
        """The innermost frame of the user's whose line is still what the text says."""
        users = [frame for frame in self.frames if is_user_file(frame.file)]
        return users[-1] if users and line_at(users[-1].file, users[-1].line) == users[-1].code else None

    @property
    def place(self) -> Place:
        frame = self.user_frame
        return place_at(frame.file, frame.line) if frame is not None else Place()


def read_worker_text(message: str) -> WorkerText | None:
    head = _HEAD.match(message)
    if head is None or _START not in message:
        return None
    last = message.rpartition(_START)[2]
    found = list(_FRAME.finditer(last))
    frames = tuple(TextFrame(file, int(line), name, code.strip()) for file, line, name, code in
                   (match.groups() for match in found))  # fmt: skip
    after = [line for line in last[found[-1].end() if found else 0 :].splitlines() if line[:1].strip()]
    told = after[0].partition(": ")[2] if after else ""
    return WorkerText(head[1], int(head[2]), frames, told[:300])


# The open files of this process, counted without opening one, and the variable that keeps most of them.
_COUNTED, _ITEMS, _FEW = 65_536, 20_000, 8
_FILLING = ("append", "add", "extend", "appendleft", "setdefault", "update")


def open_files(crash: LiveCrash) -> OpenFiles | None:
    if not _is_about_files(crash):
        return None
    limit = file_limit()
    opened = sum(_is_open(number) for number in range(min(limit, _COUNTED)))
    name, held, holds, place = max(_holders(crash), key=lambda found: found[1], default=("", 0, "", Place()))
    return OpenFiles(opened, limit, _strategy(), name, held, holds, place)


def _strategy() -> str:
    return str(torch.multiprocessing.get_sharing_strategy())  # type: ignore[no-untyped-call]


def _is_about_files(crash: LiveCrash) -> bool:
    error = crash.error
    if isinstance(error, OSError) and error.errno == errno.EMFILE:
        return True
    receiving = crash.frame_of("recvfds", "reduction.py") is not None
    waiting = crash.frame_of("_try_get_data", "dataloader.py") is not None
    return isinstance(error, RuntimeError) and (
        (receiving and "ancdata" in str(error)) or (waiting and str(error).startswith("Too many open files"))
    )


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


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


def _filling_line(seen: Seen, path: str, value: Any) -> Place:
    """The first line of the user's file that puts something into it."""
    file, name = seen.file, path.rpartition(".")[2]
    for node in ast.walk(tree_of(file) or ast.Module([], [])):
        target = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        if target is not None and target.attr in _FILLING and ast.unparse(target.value).rpartition(".")[2] == name:
            return place_at(file, node.lineno)  # type: ignore[attr-defined]
    return Place()
