"""Everything that is known of a process that stands still, gathered into one record."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from os import getpid
from typing import Any

from torch_debugger.anatomy.rank_conditions import condition_on_rank
from torch_debugger.clocks import time
from torch_debugger.ranks.hangs import kernel_view
from torch_debugger.ranks.hangs.asked_stacks import AskedStacks
from torch_debugger.ranks.hangs.flight_recorder import collectives_under_way
from torch_debugger.ranks.hangs.kernel_view import KernelView, kernel_id, view_thread
from torch_debugger.ranks.hangs.process_groups import group_states, rank_and_world, shapes_given
from torch_debugger.ranks.hangs.sightings import Thread
from torch_debugger.ranks.hangs.stacks import lines_of, other_threads
from torch_debugger.ranks.hangs.training_loop import TrainingLoop
from torch_debugger.ranks.hangs.waits import sort_out
from torch_debugger.ranks.hangs.worker_states import (
    awaited_worker,
    iterator_of,
    standing_workers,
    view_workers,
)
from torch_debugger.records import HangFact, Place, StackLine, Standing
from torch_debugger.records.hangs import COLLECTIVE, ENDED, LOADER

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

    def __init__(self, step: Callable[[], int], asked: AskedStacks, policy: str) -> None:
        self.loop = TrainingLoop()
        self._step = step
        self._asked = asked
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
            group_states(), self._batches(), self._batches_of, self._is_out_of_data, -1, (), self.policy,
        )  # fmt: skip

    def _batches(self) -> int:
        iterator = self.iterator()
        return int(iterator._num_yielded) if iterator is not None else self._last_batches

    def gather(self, thread: Thread, situation: Situation) -> HangFact:
        frame = thread.frame()
        view = view_thread(thread.pid, thread.native)
        wait = sort_out(frame, view)
        rank, world = rank_and_world()
        iterator = self.iterator() or iterator_of(wait.frame)
        workers = self._workers(iterator, situation) if wait.kind == LOADER and iterator is not None else ()
        call, target = (view.call, view.target) if view is not None else ("", "")
        lines = lines_of(frame)
        training = Standing("training", thread.pid, True, -1.0, call, target, lines, situation.kind)
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
            condition=_condition(lines),
            shapes=shapes_given(wait.frame) if wait.kind == COLLECTIVE else (),
            groups=group_states(),
            batches=int(iterator._num_yielded) if iterator is not None else self._last_batches,
            batches_of=self._batches_of,
            is_out_of_data=self._is_out_of_data,
            worker=awaited_worker(iterator) if workers else -1,
            stacks=(training, *workers, *_threads(thread.ident)),
            policy=self.policy,
            recorded=collectives_under_way(),
        )

    def _workers(self, iterator: Any, situation: Situation) -> tuple[Standing, ...]:
        then_s, views = situation.workers_before
        return standing_workers(iterator, views, time.monotonic() - then_s, self._asked)


def _condition(lines: tuple[StackLine, ...]) -> Place:
    """On the rank, around the line or around a call that led to it; the innermost."""
    found = (condition_on_rank(line.place) for line in reversed(lines) if line.is_users)
    return next((place for place in found if place), Place())


def _threads(asked: int) -> tuple[Standing, ...]:
    return tuple(_thread(thread, frame) for thread, frame in other_threads(asked)[:_MOST_THREADS])


def _thread(thread: threading.Thread, frame: Any) -> Standing:
    view = view_thread(getpid(), kernel_id(thread))
    call, target = (view.call, view.target) if view is not None else ("", "")
    kind = sort_out(frame, view).kind
    return Standing(f"thread {thread.name}", getpid(), True, -1.0, call, target, lines_of(frame), kind)
