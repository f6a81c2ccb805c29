"""Processes that the training has started and waits for: whether one of them is at something of its own."""

from __future__ import annotations

import os
from os import getpid

import psutil

from torch_debugger.ranks.hangs import kernel_view
from torch_debugger.ranks.hangs.kernel_view import KernelView, link_of, view_process

_CHANNELS = ("pipe:", "socket:")
# In these a child waits for somebody in whom this process may have a part.
_WAITS = {*kernel_view.READING, *kernel_view.WAITING_FOR_PROCESS, "write", "futex", "epoll_wait", "epoll_pwait"}


def child_is_at_work(view: KernelView | None, *, by_sleeping: bool) -> bool:
    """Of the processes that may end this wait, one computes, or waits for a disk or the network, or sleeps,
    where that counts. Not so where all of them wait for this one: a child that reads what we never send, or
    writes what we never read."""
    if view is None:
        return False
    ours = channels_of(getpid())
    children = _children()
    if view.target.startswith(_CHANNELS):  # a wait at a pipe: only who holds its other end can end it
        children = [child for child in children if view.target in channels_of(child)]
    return any(_is_at_work(child, ours, by_sleeping) for child in children)


def channels_of(pid: int) -> set[str]:
    """Its pipes and sockets, as the kernel calls them: pipe:[1234]."""
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:  # it has ended meanwhile, or is another's
        return set()
    return {target for number in numbers if (target := link_of(pid, number)).startswith(_CHANNELS)}


def _children() -> list[int]:
    try:
        return [child.pid for child in psutil.Process().children(recursive=True)]
    except psutil.Error:
        return []


def _is_at_work(pid: int, ours: set[str], by_sleeping: bool) -> bool:
    view = view_process(pid)
    if view is None or view.state in ("Z", "X", "T") or not view.call:
        return False
    if view.call in kernel_view.SLEEPING:
        return by_sleeping
    if view.call not in _WAITS:
        return True
    return bool(view.target) and view.target not in ours
