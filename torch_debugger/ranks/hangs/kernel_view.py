"""How the kernel sees a thread: how much it computes, how often it wakes, which call it is in.

From /proc, where there is one. Elsewhere nothing is known, and only stacks are compared.
"""

from __future__ import annotations

import os
import platform
import threading
from dataclasses import dataclass
from os import getpid

from torch_debugger.kernel_files import kernel_text

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
    cpu_s = int(computed_ns[0]) / 1e9
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    wakes = int(status.get("voluntary_ctxt_switches", "0"))
    call, fd = _call(folder)
    target = link_of(pid, fd) if fd >= 0 else ""
    return KernelView(cpu_s, wakes, status.get("State", "")[:1], call, fd, target)


def kernel_id(thread: threading.Thread) -> int:
    """In a process that was forked, Python (seen in 3.11) keeps the main thread's id of the parent."""
    return getpid() if thread is threading.main_thread() else thread.native_id or 0


def view_process(pid: int) -> KernelView | None:
    """Its main thread; a worker of a loader does all its work there."""
    return view_thread(pid, pid)


def _call(folder: str) -> tuple[str, int]:
    words = kernel_text(f"{folder}/syscall").split()
    if not words:  # of another's process, or forbidden to all
        return "", -1
    if words[0] == RUNNING:
        return RUNNING, -1
    call = _CALLS.get(platform.machine(), {}).get(int(words[0]), "")
    fd = int(words[1], 16) if call in _OF_A_FILE and len(words) > 1 else -1
    return call, fd if fd < 1 << 20 else -1


def link_of(pid: int, fd: int | str) -> str:
    """A path, or what the kernel has for a pipe or a socket: pipe:[1234]."""
    try:
        return os.readlink(f"/proc/{pid}/fd/{fd}")
    except OSError:
        return ""


def is_terminal(pid: int, fd: int) -> bool:
    return link_of(pid, fd).startswith(("/dev/pts/", "/dev/tty", "/dev/console"))
