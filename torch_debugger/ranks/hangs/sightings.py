"""The training's thread at one moment, and whether it has moved since another."""

from __future__ import annotations

from dataclasses import dataclass
from os import getpid
from types import FrameType
from typing import Any

import psutil

from torch_debugger.clocks import time
from torch_debugger.ranks.hangs import kernel_view
from torch_debugger.ranks.hangs.kernel_view import KernelView, view_thread
from torch_debugger.ranks.hangs.process_groups import uses_nccl
from torch_debugger.ranks.hangs.stacks import Path, current_frame, outwards, users_path
from torch_debugger.ranks.hangs.waits import Wait, is_in_loader, sort_out
from torch_debugger.ranks.hangs.worker_states import iterator_of
from torch_debugger.records.hangs import COLLECTIVE

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
        iterator = _iterator(frame)
        fetch = (id(iterator), int(iterator._num_yielded)) if iterator is not None else (0, 0)
        whole = tuple((id(each.f_code), each.f_lasti) for each in outwards(frame))
        spins = uses_nccl() and wait.kind == COLLECTIVE
        path, used_s = users_path(frame), time.process_time() - time.thread_time()
        return Sighting(time.monotonic(), path, view, whole, used_s, spins, fetch), wait

    def frame(self) -> FrameType | None:
        return current_frame(self.ident)


def _iterator(frame: FrameType | None) -> Any:
    """Of the loader inside of which the thread is, at whatever depth: it may load the samples itself."""
    return next(
        (found for each in outwards(frame) if is_in_loader(each) and (found := iterator_of(each))), None
    )


def descendants_cpu_s() -> float:
    """The processor's time of all processes that this one has started and that still run."""
    total = 0.0
    try:
        children = psutil.Process().children(recursive=True)
    except psutil.Error:
        return 0.0
    for child in children:
        try:
            times = child.cpu_times()
        except psutil.Error:  # it has ended meanwhile
            continue
        total += times.user + times.system
    return total
