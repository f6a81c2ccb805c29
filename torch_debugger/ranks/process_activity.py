"""How the kernel sees a thread: how much it computes, how often it wakes, which call it is in.

From /proc, where there is one. Elsewhere nothing is known, and only stacks are compared.
"""

from __future__ import annotations

import contextlib
import os
import platform
import threading
from dataclasses import dataclass
from os import getpid

import psutil

from torch_debugger.records.ranks import CALL, EVENT, LOOP, PROCESS, READ
from torch_debugger.system.files import kernel_text

RUNNING = "running"
# Their numbers by machine; calls that are not here are nobody's concern.
_CALLS = {
    "x86_64": {
        0: "read", 7: "poll", 17: "pread64", 19: "readv", 23: "select", 34: "pause", 35: "nanosleep",
        42: "connect", 43: "accept", 45: "recvfrom", 47: "recvmsg", 61: "wait4", 72: "fcntl", 73: "flock",
        74: "fsync", 1: "write", 2: "open", 202: "futex", 230: "clock_nanosleep", 232: "epoll_wait",
        247: "waitid", 257: "openat", 270: "pselect6", 271: "ppoll", 281: "epoll_pwait", 288: "accept4",
    },
    "aarch64": {
        22: "epoll_pwait", 25: "fcntl", 32: "flock", 56: "openat", 63: "read", 64: "write", 65: "readv",
        67: "pread64", 72: "pselect6", 73: "ppoll", 82: "fsync", 95: "waitid", 98: "futex", 101: "nanosleep",
        115: "clock_nanosleep", 202: "accept", 203: "connect", 207: "recvfrom", 212: "recvmsg", 242: "accept4",
        260: "wait4",
    },
}  # fmt: skip
# Calls whose first argument is a descriptor.
_OF_A_FILE = {
    "read", "readv", "pread64", "recvfrom", "recvmsg", "connect", "accept", "accept4", "write", "flock",
    "fcntl", "fsync",
}  # fmt: skip
READING = {"read", "readv", "pread64", "recvfrom", "recvmsg", "accept", "accept4", "connect", "poll", "ppoll"}
SLEEPING = {"nanosleep", "clock_nanosleep"}
WAITING_FOR_PROCESS = {"wait4", "waitid"}
LOCKING_A_FILE = {"flock", "fcntl"}


@dataclass(frozen=True, slots=True)
class KernelView:
    """One thread at one moment."""

    cpu_s: float
    wakes: int  # how often it has waited for something and gone on
    state: str  # R, S, D, T ... as ps shows it; empty: not known
    call: str  # the system call it is in; `running` for none, empty where that is not known
    fd: int  # of that call; -1: none
    target: str


def view_thread(pid: int, thread: int) -> KernelView | None:
    """None where there is no /proc, or no such thread any more."""
    folder = f"/proc/{pid}/task/{thread}"
    computed_ns = kernel_text(f"{folder}/schedstat").split()
    lines = kernel_text(f"{folder}/status").splitlines()
    if not computed_ns or not lines:
        return None
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    wakes = int(status.get("voluntary_ctxt_switches", "0"))
    words = kernel_text(f"{folder}/syscall").split() or [""]  # of another's process, or forbidden to all
    call = words[0] if words[0] in ("", RUNNING) else _CALLS.get(platform.machine(), {}).get(int(words[0]), "")
    fd = int(words[1], 16) if call in _OF_A_FILE and len(words) > 1 else -1
    fd = fd if fd < 1 << 20 else -1
    target = link_of(pid, fd) if fd >= 0 else ""
    return KernelView(int(computed_ns[0]) / 1e9, wakes, status.get("State", "")[:1], call, fd, target)


def kernel_id(thread: threading.Thread) -> int:
    """In a process that was forked, Python (seen in 3.11) keeps the main thread's id of the parent."""
    return getpid() if thread is threading.main_thread() else thread.native_id or 0


def view_process(pid: int) -> KernelView | None:
    """Its main thread; a worker of a loader does all its work there."""
    return view_thread(pid, pid)


def link_of(pid: int, fd: int | str) -> str:
    """A path, or what the kernel has for a pipe or a socket: pipe:[1234]."""
    try:
        return os.readlink(f"/proc/{pid}/fd/{fd}")
    except OSError:
        return ""


def is_terminal(pid: int, fd: int) -> bool:
    return link_of(pid, fd).startswith(("/dev/pts/", "/dev/tty", "/dev/console"))


# Processes that the training has started and waits for: whether one of them is at something of its own.
_CHANNELS = ("pipe:", "socket:")
# In these a child waits for somebody in whom this process may have a part.
_WAITS = {*READING, *WAITING_FOR_PROCESS, "write", "futex", "epoll_wait", "epoll_pwait"}


def child_is_at_work(view: KernelView | None, *, by_sleeping: bool) -> bool:
    """Of the processes that may end this wait, one computes, or waits for a disk or the network, or sleeps,
    where that counts. Not so where all of them wait for this one: a child that reads what we never send, or
    writes what we never read."""
    if view is None:
        return False
    ours = channels_of(getpid())
    pids = _children()
    if view.target.startswith(_CHANNELS):  # a wait at a pipe: only who holds its other end can end it
        pids = [child for child in pids if view.target in channels_of(child)]
    for child in map(view_process, pids):
        if child is None or child.state in ("Z", "X", "T") or not child.call:
            continue
        if child.call in SLEEPING:
            works = by_sleeping
        else:
            works = child.call not in _WAITS or (bool(child.target) and child.target not in ours)
        if works:
            return True
    return False


def channels_of(pid: int) -> set[str]:
    """Its pipes and sockets, as the kernel calls them: pipe:[1234]."""
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:  # it has ended meanwhile, or is another's
        return set()
    return {target for number in numbers if (target := link_of(pid, number)).startswith(_CHANNELS)}


def children() -> list[psutil.Process]:
    found: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        found = psutil.Process().children(recursive=True)
    return found


def _children() -> list[int]:
    return [child.pid for child in children()]


# How long a training may stand still: learned from how long it took so far to go on.
FLOOR_S, CEILING_S = 40.0, 600.0
_MULTIPLE = 3.0  # of the slowest so far
# Before the first sign of life: downloads, caches and compilers may take long, and look like this.
_FIRST_S = 180.0
_SLOW_STARTERS = {CALL, EVENT, LOOP, PROCESS, READ}
# A loop computes, as slow work does: it has to take far longer than any batch before it.
_LOOP_MULTIPLE = 10.0
_LEAST_SIGNS = 3  # after which a loop can be told from a slow start


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds. With a `timeout_s` nothing is learned: it alone holds."""

    timeout_s: float = 0.0
    floor_s: float = FLOOR_S
    ceiling_s: float = CEILING_S


class Pace:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.slowest_s = 0.0
        # Of those that took so long that they were looked at. With the first of a pass, its workers start.
        self.slowest_batch_s = {False: 0.0, True: 0.0}
        self.signs = 0  # of life: steps, backward passes, calls of models

    def went_on(self, after_s: float, steps: int = 0) -> None:
        """`steps` are all so far: many may pass between two looks."""
        if self.signs:  # what came before the first one was setting up
            self.slowest_s = max(self.slowest_s, after_s)
        self.signs = max(self.signs + 1, steps)

    def fetched(self, after_s: float, *, is_first: bool) -> None:
        """A batch came."""
        self.slowest_batch_s[is_first] = max(self.slowest_batch_s[is_first], after_s)

    def allowed_s(self, kind: str, *, is_first: bool = False) -> float:
        """For a wait of this kind; of a loop, whether it keeps the first batch of a pass back."""
        limits = self.limits
        if limits.timeout_s:
            return limits.timeout_s
        floor_s = limits.floor_s
        if not self.signs and kind in _SLOW_STARTERS:
            floor_s = max(floor_s, _FIRST_S)
        if kind == LOOP and self.signs < _LEAST_SIGNS:
            floor_s = max(floor_s, limits.ceiling_s)
        batch_s = max(self.slowest_batch_s[False], self.slowest_batch_s[is_first])
        learned_s = _LOOP_MULTIPLE * batch_s if kind == LOOP else _MULTIPLE * self.slowest_s
        return max(min(learned_s, limits.ceiling_s), floor_s)
