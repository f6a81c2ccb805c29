"""Everything that is known of a process that stands still, gathered into one record."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from os import getpid
from types import FrameType
from typing import Any

import psutil

from torch_debugger.ranks import process_activity as kernel_view
from torch_debugger.ranks.hang_waits import (
    Wait,
    argument_shapes,
    collectives_under_way,
    group_states,
    is_in_loader,
    rank_and_world,
    sort_out,
    uses_nccl,
)
from torch_debugger.ranks.process_activity import KernelView, children, kernel_id, view_process, view_thread
from torch_debugger.ranks.thread_stacks import (
    AskedStacks,
    Path,
    TrainingLoop,
    current_frame,
    lines_of,
    other_threads,
    outwards,
    users_path,
)
from torch_debugger.records import HangFact, Place, StackLine, Standing
from torch_debugger.records.ranks import CALL, COLLECTIVE, ENDED, EVENT, LOADER, LOCK, LOOP, READ, SLEEP
from torch_debugger.source.frames import locals_elsewhere
from torch_debugger.source.statements import condition_on_rank
from torch_debugger.system.clocks import time

_BUSY_SHARE = 0.3
_MOST_THREADS = 16

Views = tuple[float, dict[int, KernelView | None]]  # when, and of each worker


@dataclass(frozen=True, slots=True)
class Situation:
    """What the vigil has measured."""

    still_s: float
    allowed_s: float
    slowest_s: float
    final: bool
    kind: str
    workers_before: Views


class Evidence:
    """`step` tells the step under way. Loaders are told to it as the training begins and ends a pass."""

    def __init__(self, step: Callable[[], int], stacks: AskedStacks, policy: str) -> None:
        self.loop = TrainingLoop()
        self._step = step
        self._stacks = stacks
        self.policy = policy
        self._iterator: weakref.ref[Any] | None = None
        self._batches_of = -1
        self._is_out_of_data = False
        self._last_batches = -1  # of a pass that is over, whose iterator may be gone

    # The loader under way

    def begin_pass(self, iterator: Any, length: int | None) -> None:
        self._iterator = weakref.ref(iterator)
        self._batches_of = -1 if length is None else length
        self._is_out_of_data = False

    def end_pass(self, iterator: Any) -> None:
        self._is_out_of_data = True
        self._last_batches = int(getattr(iterator, "_num_yielded", -1))

    def iterator(self) -> Any:
        return self._iterator() if self._iterator is not None else None

    def view_workers(self) -> Views:
        iterator = self.iterator()
        return time.monotonic(), (view_workers(iterator) if iterator is not None else {})

    def awaited_worker_computes(self, before: Views) -> bool:
        iterator = self.iterator()
        number = awaited_worker(iterator) if iterator is not None else -1
        now, then = view_workers(iterator).get(number) if number >= 0 else None, before[1].get(number)
        if now is None or then is None:
            return False
        passed_s = max(time.monotonic() - before[0], 1e-3)
        return now.call == kernel_view.RUNNING or (now.cpu_s - then.cpu_s) / passed_s > _BUSY_SHARE

    # What is told

    def world(self) -> int:
        return rank_and_world()[1]

    def rank_and_step(self) -> tuple[int | None, int]:
        return rank_and_world()[0], self._step()

    def ending(self) -> HangFact:
        """The script is over, and others may wait for it."""
        rank, world = rank_and_world()
        nowhere = Place()
        return HangFact(
            rank, world, self._step(), False, 0.0, 0.0, 0.0, ENDED, "", nowhere, "", nowhere, (),
            group_states(), self._batches(self.iterator()), self._batches_of, self._is_out_of_data, -1, (), self.policy,
        )  # fmt: skip

    def _batches(self, iterator: Any) -> int:
        return int(iterator._num_yielded) if iterator is not None else self._last_batches

    def gather(self, thread: Thread, situation: Situation) -> HangFact:
        frame = thread.frame()
        view = view_thread(thread.pid, thread.native)
        wait = sort_out(frame, view)
        rank, world = rank_and_world()
        iterator = self.iterator() or iterator_of(wait.frame)
        workers: tuple[Standing, ...] = ()
        if wait.kind == LOADER and iterator is not None:
            workers = standing_workers(iterator, situation.workers_before, self._stacks)
        lines = lines_of(frame)
        # on the rank, around the line or around a call that led to it; the innermost
        conditions = (condition_on_rank(line.place) for line in reversed(lines) if line.is_users)
        stacks = [_standing("training", thread.pid, view, lines, situation.kind), *workers]
        for other, inner in other_threads(thread.ident)[:_MOST_THREADS]:
            seen = view_thread(getpid(), kernel_id(other))
            kind = sort_out(inner, seen).kind
            stacks.append(_standing(f"thread {other.name}", getpid(), seen, lines_of(inner), kind))
        return HangFact(
            rank=rank,
            world=world,
            step=self._step(),
            final=situation.final,
            still_s=situation.still_s,
            expected_s=situation.allowed_s,
            slowest_s=situation.slowest_s,
            kind=situation.kind,
            doing=wait.doing,
            place=wait.place,
            call=wait.call,
            condition=next((place for place in conditions if place), Place()),
            shapes=argument_shapes(wait.frame) if wait.kind == COLLECTIVE else (),
            groups=group_states(),
            batches=self._batches(iterator),
            batches_of=self._batches_of,
            is_out_of_data=self._is_out_of_data,
            worker=awaited_worker(iterator) if workers else -1,
            stacks=tuple(stacks),
            policy=self.policy,
            recorded=collectives_under_way(),
        )


def _standing(
    who: str,
    pid: int,
    view: KernelView | None,
    lines: tuple[StackLine, ...],
    kind: str,
    *,
    alive: bool = True,
    share: float = -1.0,
) -> Standing:
    call, target = (view.call, view.target) if view is not None else ("", "")
    return Standing(who, pid, alive, share, call, target, lines, kind)


_IDLE = 0.05  # of a core: a thread that polls every few seconds takes far less
_MOST_WAKES = 3.0  # a second; a download wakes with every packet


@dataclass(frozen=True, slots=True)
class Sighting:
    at_s: float
    path: Path
    view: KernelView | None
    whole: Path  # frames of libraries too
    process_s: float  # the processor's time of the process, but for the thread that looks
    spins: bool  # a thread that waits for the GPU asks it again and again, and seems to compute
    fetch: tuple[int, int]  # the loader under way, and what it has delivered; (0, 0): none

    def stands_since(self, before: Sighting) -> bool:
        """Whether the thread has done nothing in between but wait."""
        if self.path != before.path:
            return False
        if self.view is None or before.view is None or self.spins:
            return self.whole == before.whole
        passed_s = max(self.at_s - before.at_s, 1e-3)
        computed = (self.view.cpu_s - before.view.cpu_s) / passed_s
        wakes = (self.view.wakes - before.view.wakes) / passed_s
        return self.view.call != kernel_view.RUNNING and computed < _IDLE and wakes < _MOST_WAKES

    def others_computed(self, before: Sighting) -> bool:
        """Whether other threads of the process worked meanwhile."""
        passed_s = max(self.at_s - before.at_s, 1e-3)
        return (self.process_s - before.process_s) / passed_s > 2 * _IDLE


class Thread:
    """Of this process, that is looked at from another one."""

    def __init__(self, ident: int, native: int) -> None:
        self.ident, self.native = ident, native
        self.pid = getpid()

    def look(self) -> tuple[Sighting, Wait]:
        frame = current_frame(self.ident)
        view = view_thread(self.pid, self.native)
        wait = sort_out(frame, view)
        # of the loader inside of which the thread is, at whatever depth: it may load the samples itself
        loaders = (iterator_of(each) for each in outwards(frame) if is_in_loader(each))
        iterator = next((each for each in loaders if each), None)
        fetch = (id(iterator), int(iterator._num_yielded)) if iterator is not None else (0, 0)
        whole = tuple((id(each.f_code), each.f_lasti) for each in outwards(frame))
        spins = uses_nccl() and wait.kind == COLLECTIVE
        path, used_s = users_path(frame), time.process_time() - time.thread_time()
        return Sighting(time.monotonic(), path, view, whole, used_s, spins, fetch), wait

    def frame(self) -> FrameType | None:
        return current_frame(self.ident)


def descendants_cpu_s() -> float:
    """The processor's time of all processes that this one has started and that still run."""
    total = 0.0
    for child in children():
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            times = child.cpu_times()
            total += times.user + times.system
    return total


_BUSY = 0.5  # of a core
_WAITS_FOR_WORK = ("queues.py", "get")
_LOCKS = {"acquire", "__enter__"}
_MOST = 32


def iterator_of(frame: FrameType | None) -> Any:
    """The iterator of the loader in whose code a frame is; None for another frame."""
    found = locals_elsewhere(frame).get("self") if frame is not None else None
    return found if hasattr(found, "_num_yielded") else None


def awaited_worker(iterator: Any) -> int:
    """The worker whose batch comes next; -1 where there are none, or it is not known."""
    tasks, next_batch = getattr(iterator, "_task_info", {}), getattr(iterator, "_rcvd_idx", -1)
    entry = tasks.get(next_batch)
    return int(entry[0]) if entry else -1


def pids_of(iterator: Any) -> list[int]:
    return [int(worker.pid) for worker in getattr(iterator, "_workers", ())]


def view_workers(iterator: Any) -> dict[int, KernelView | None]:
    """By worker."""
    return {number: view_process(pid) for number, pid in enumerate(pids_of(iterator)[:_MOST])}


def standing_workers(iterator: Any, before: Views, stacks: AskedStacks) -> tuple[Standing, ...]:
    took_s = time.monotonic() - before[0]
    pids = pids_of(iterator)
    found: list[Standing] = []
    for number, view in view_workers(iterator).items():
        then = before[1].get(number)
        alive = view is not None and view.state not in ("Z", "X")
        share = (view.cpu_s - then.cpu_s) / took_s if view and then and took_s > 0 else -1.0
        lines = stacks.of_process(pids[number]) if alive else ()
        kind = _kind(view, share, lines) if alive else ""
        found.append(_standing(f"worker {number}", pids[number], view, lines, kind, alive=alive, share=share))
    return tuple(found)


def waits_for_work(lines: tuple[StackLine, ...]) -> bool:
    """Idle, since the training has not asked it for a batch."""
    return any(
        (line.place.file or "").endswith(_WAITS_FOR_WORK[0]) and line.function == _WAITS_FOR_WORK[1]
        for line in lines[:2]
    )


def _kind(view: KernelView | None, share: float, lines: tuple[StackLine, ...]) -> str:
    if view is None or waits_for_work(lines):
        return ""
    if view.call == kernel_view.RUNNING or share >= _BUSY:
        return LOOP
    if view.call in kernel_view.READING or view.call in kernel_view.LOCKING_A_FILE or view.state == "D":
        return READ
    if view.call in kernel_view.SLEEPING:
        return SLEEP
    if view.call == "futex":
        users = bool(lines) and lines[-1].is_users
        return LOCK if users or (lines and lines[-1].function in _LOCKS) else EVENT
    return CALL
