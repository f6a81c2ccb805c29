"""The workers of a loader that is waited for: whose turn it is, and what each of them does."""

from __future__ import annotations

from types import FrameType
from typing import Any

from torch_debugger.anatomy.frames import locals_elsewhere
from torch_debugger.ranks.hangs import kernel_view
from torch_debugger.ranks.hangs.asked_stacks import AskedStacks
from torch_debugger.ranks.hangs.kernel_view import KernelView, view_process
from torch_debugger.records import StackLine, Standing
from torch_debugger.records.hangs import CALL, EVENT, LOCK, LOOP, READ, SLEEP

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


def standing_workers(
    iterator: Any, before: dict[int, KernelView | None], took_s: float, asked: AskedStacks
) -> tuple[Standing, ...]:
    """`before` is how they were `took_s` seconds ago."""
    views = view_workers(iterator)
    pids = pids_of(iterator)
    return tuple(
        _standing(number, pids[number], view, before.get(number), took_s, asked)
        for number, view in views.items()
    )


def _standing(
    number: int,
    pid: int,
    view: KernelView | None,
    before: KernelView | None,
    took_s: float,
    asked: AskedStacks,
) -> Standing:
    alive = view is not None and view.state not in ("Z", "X")
    share = (view.cpu_s - before.cpu_s) / took_s if view and before and took_s > 0 else -1.0
    lines = asked.of_process(pid) if alive else ()
    call, target = (view.call, view.target) if view is not None else ("", "")
    kind = _kind(view, share, lines) if alive else ""
    return Standing(f"worker {number}", pid, alive, share, call, target, lines, kind)


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
