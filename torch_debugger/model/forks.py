"""Something run in a fork of this process: what it does, breaks or kills is lost with the fork."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import faulthandler
import gc
import glob
import logging
import mmap
import os
import platform
import signal
import struct
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from torch_debugger.source.objects import classes_of, is_a, name_of_class
from torch_debugger.system.clocks import time

_PAUSE_S = 0.03  # between two looks: they are system calls, and steps may be short
_ARM = ("aarch64", "arm64")


_inside = False
_writing = -1


def in_fork() -> bool:
    """Whether this process is such a fork: what runs the user's code again must not do so without end."""
    return _inside


def has_other_kernels() -> bool:
    """Whether a fork computes with other kernels than the process it is of: its last bits may differ."""
    return platform.machine() in _ARM and bool(torch.backends.mkldnn.enabled)


def can_differentiate_in_fork() -> bool:
    """Not with an accelerator in the machine, wherever the tensors are: torch keeps a thread for each from the
    first backward on, and refuses a backward in a fork then."""
    return not may_have_an_accelerator()


class ForkedTask:
    """A function that returns a short text, run in a child that ends itself after `timeout_s`.

    It gives way to the training, unless `urgent`: after a crash there is nothing to give way to.
    Without `kernels` it works on tensors without data, and takes the ways that the process itself would take.
    """

    def __init__(self, task: Callable[[], str], timeout_s: float, urgent: bool = False, kernels: bool = True) -> None:
        started = time.perf_counter()
        self._text = b""
        self._looked = 0.0
        self.ended: str | None = None  # None while it runs, then: done | timeout | died
        self._reading, writing = os.pipe()
        # Python 3.12 warns of forks beside threads; the child uses one thread, and has a timeout.
        with unwarned(DeprecationWarning):
            self.pid = os.fork()
        if self.pid == 0:
            _be_the_child(task, writing, timeout_s, urgent, kernels)
        os.close(writing)
        os.set_blocking(self._reading, False)
        self.cost_s = time.perf_counter() - started  # what the parent paid so far

    def poll(self) -> bytes | None:
        """The child's text once it has ended (empty if it died), else None. Never waits."""
        started = time.perf_counter()
        if self.ended is None and started - self._looked > _PAUSE_S:
            self._looked = started
            self._read()
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # the script itself waits for its children, and met ours
                pid, status = self.pid, 0
            if pid:
                self._finish(status)
            self.cost_s += time.perf_counter() - started
        return None if self.ended is None else self._text

    def wait(self) -> bytes:
        while (text := self.poll()) is None:
            time.sleep(_PAUSE_S)
        return text

    def kill(self) -> None:
        """End the child now and reap it; does nothing once it has ended."""
        if self.ended is None:
            os.kill(self.pid, signal.SIGKILL)
            self._finish(os.waitpid(self.pid, 0)[1])

    def _read(self) -> None:
        try:
            while chunk := os.read(self._reading, 65536):
                self._text += chunk
        except BlockingIOError:
            return

    def _finish(self, status: int) -> None:
        self._read()
        os.close(self._reading)
        timed_out = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
        self.ended = "timeout" if timed_out else "done" if self._text else "died"


def _be_the_child(task: Callable[[], str], writing: int, timeout_s: float, urgent: bool, kernels: bool) -> None:
    global _inside, _writing
    status, _inside, _writing = 1, True, writing
    try:
        for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        signal.setitimer(signal.ITIMER_REAL, timeout_s)
        _touch_nothing_outside()
        leave_process_groups()
        if not urgent:
            os.nice(10)
        # Threads of the parent's pools do not exist here: waiting for them hangs. On ARM oneDNN hands convolutions and
        # linear layers to the Arm Compute Library, which does not keep to this number; torch's own kernels do.
        torch.set_num_threads(1)
        if kernels and has_other_kernels():
            torch._C._set_mkldnn_enabled(False)
        os.write(writing, task().encode())
        status = 0
    finally:
        os._exit(status)  # no atexit, no flush: the buffers hold the user's text, which the parent prints


def _touch_nothing_outside() -> None:
    """What the user's code writes in here must reach no file, no terminal and no logger."""
    import resource  # not on Windows, where this file must still load

    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    sys.stdout = sys.stderr = os.fdopen(nowhere, "w", closefd=False)  # theirs may go elsewhere than to 1 and 2
    tempfile.gettempdir()  # chosen by writing there, which the next line ends
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()
    logging.disable(logging.CRITICAL)
    gc.disable()  # a finalizer of the user's object must not run twice


# A fork that is sealed: nothing that the user's code does in it can be seen outside of it.
_TIME_LIMIT_S = 30  # of computing
_MORE_MEMORY_BYTES = 2 << 30

_REFUSED = (
    "os.", "shutil.", "subprocess.", "socket.", "sqlite3.connect", "ftplib.", "smtplib.", "http.", "urllib.",
    "tempfile.", "webbrowser.", "pty.",
)  # fmt: skip
_ALLOWED = ("os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.getxattr")


def seal() -> None:
    """For good, in a fork. Open files lead nowhere from now on, for a position in a file and a connection are
    shared with the training; and what would change something outside is refused."""
    import resource  # not on Windows, where this file must still load

    # Also where time limits by signals are blocked, and where the lines ahead ask for much memory.
    with open("/proc/self/statm") as sizes:
        used = int(sizes.read().split()[0]) * resource.getpagesize()
    for limit, most in ((resource.RLIMIT_CPU, _TIME_LIMIT_S), (resource.RLIMIT_AS, used + _MORE_MEMORY_BYTES)):
        highest = resource.getrlimit(limit)[1]
        most = most if highest == resource.RLIM_INFINITY else min(most, highest)
        resource.setrlimit(limit, (most, highest))
    stop_sharing()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in map(int, os.listdir("/proc/self/fd")):
        try:
            os.fstat(number)
        except OSError:  # the folder that was listed just now
            continue
        if number not in (_writing, nowhere):  # the result is still to be written
            os.dup2(nowhere, number)
    sys.addaudithook(_refuse)
    refuse_what_reaches_outside()


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        flags = arguments[2] if len(arguments) > 2 else 0
        if isinstance(flags, int) and flags & WRITING and str(arguments[0]) != os.devnull:
            raise PermissionError("a fork writes no files")
    elif event.startswith(_REFUSED) and event not in _ALLOWED:
        raise PermissionError(f"a fork does nothing outside of itself: {event}")


# Memory that a fork shares with the process it is of: locks, queues and arrays of multiprocessing, files that are
# mapped. In the fork each becomes a copy of its own.
_LARGEST_COPY_BYTES = 64 << 20
_FIXED, _ANONYMOUS = 0x10, 0x20


def stop_sharing() -> None:
    """For good. What is too large to be copied can be read only: who writes there ends the fork."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    both, private = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | _FIXED | _ANONYMOUS
    shared = []
    with open("/proc/self/maps") as maps:
        for line in maps:
            addresses, allowed, *_ = line.split(maxsplit=2)
            if allowed.startswith("rw") and allowed.endswith("s"):
                first, last = (int(each, 16) for each in addresses.split("-"))
                shared.append((first, last - first))
    for start, size in shared:
        if size > _LARGEST_COPY_BYTES:
            libc.mprotect(start, size, mmap.PROT_READ)
            continue
        content = ctypes.string_at(start, size)
        if libc.mmap(start, size, both, private, -1, 0) != start:
            raise OSError(ctypes.get_errno(), "shared memory could not be exchanged for a copy")
        ctypes.memmove(start, content, size)


# System calls that a process gives up for good. Audit hooks hear of what Python does, but not of what a library in C
# does: torch.save opens its file itself, and so does sqlite.
_SET_SECCOMP, _NO_NEW_PRIVILEGES, _FILTER_MODE = 22, 38, 2
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06  # of the kernel's packet filter language
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16  # in struct seccomp_data
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_THREAD = 0x10000  # CLONE_THREAD: not a process

# audit name of the machine, and its numbers (asm/unistd.h): files, sockets, signals, processes, memory and
# queues shared by processes, timers (the rehearsal's own time limit is one).
_X86 = (
    0xC000003E,
    (
        *(85, 87, 263, 82, 264, 316, 83, 258, 84, 86, 265, 88, 266, 76, 77, 285, 90, 91, 268, 452, 92, 93, 94),
        *(260, 133, 259, 132, 235, 280, 261, 188, 189, 190, 197, 198, 199, 165, 166),
        *(41, 53, 42, 49, 50, 43, 288, 44, 46, 307),
        *(62, 200, 234, 129, 297, 434, 424, 57, 58, 59, 322, 101, 311),
        *(29, 30, 31, 64, 65, 66, 220, 68, 69, 70, 71, 240, 241, 242, 243, 425, 38, 37),
    ),
)
_SYSTEM_CALLS_ARM = (
    0xC00000B7,
    (
        *(35, 38, 276, 34, 37, 36, 45, 46, 47, 52, 53, 452, 54, 55, 33, 88, 5, 6, 7, 14, 15, 16, 40, 39),
        *(198, 199, 200, 201, 202, 203, 206, 211, 242, 269),
        *(129, 130, 131, 138, 240, 434, 424, 221, 281, 117, 271),
        *(186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196, 180, 181, 182, 183, 425, 103),
    ),
)
_MACHINES = {"x86_64": _X86, "aarch64": _SYSTEM_CALLS_ARM}
_OPEN = {"x86_64": ((2, 1), (257, 2)), "aarch64": ((56, 2),)}  # the call, and which argument has its flags
_CLONE = {"x86_64": 56, "aarch64": 220}
_SIGNAL_ACTION = {"x86_64": 13, "aarch64": 134}
_UNREADABLE = (437, 435)  # openat2 and clone3 pass their flags in memory; libraries go back to the older ones

_Step = tuple[int, int, int, int]  # code, how far to jump if so, if not, operand


def can_be_refused() -> bool:
    return sys.platform == "linux" and platform.machine() in _MACHINES and sys.maxsize > 2**32


def refuse_what_reaches_outside() -> None:
    """Reading files, memory and threads of its own are left to this process, whatever calls for more."""
    steps = b"".join(struct.pack("HBBI", *step) for step in _steps(platform.machine()))
    code = ctypes.create_string_buffer(steps, len(steps))
    program = struct.pack("HxxxxxxQ", len(steps) // 8, ctypes.addressof(code))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    rest = (ctypes.c_ulong(0),) * 3
    if prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), *rest) or prctl(
        _SET_SECCOMP, ctypes.c_ulong(_FILTER_MODE), ctypes.c_char_p(program), *rest[:2]
    ):
        raise OSError(ctypes.get_errno(), "this system lets no process give up system calls")


def _steps(machine: str) -> Iterator[_Step]:
    audited, refused = _MACHINES[machine]
    yield _LOAD, 0, 0, _MACHINE_AT
    yield _EQUAL, 1, 0, audited
    yield _RETURN, 0, 0, _REFUSE | errno.EPERM
    yield _LOAD, 0, 0, _NUMBER_AT
    for number in refused:
        yield from _if_call(number, [(_RETURN, 0, 0, _REFUSE | errno.EPERM)])
    for number in _UNREADABLE:
        yield from _if_call(number, [(_RETURN, 0, 0, _REFUSE | errno.ENOSYS)])
    for number, argument in _OPEN[machine]:
        yield from _if_call(number, _unless(argument, (_ANY_BIT, 0, 1, WRITING)))
    yield from _if_call(_CLONE[machine], _unless(0, (_ANY_BIT, 1, 0, _THREAD)))
    yield from _if_call(_SIGNAL_ACTION[machine], _unless(0, (_EQUAL, 0, 1, signal.SIGALRM)))
    yield _RETURN, 0, 0, _ALLOW


def _if_call(number: int, steps: list[_Step]) -> list[_Step]:
    return [(_EQUAL, 0, len(steps), number), *steps]


def _unless(argument: int, test: _Step) -> list[_Step]:
    """Refused where the test of this argument goes on to the next step."""
    load = (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument)
    return [load, test, (_RETURN, 0, 0, _REFUSE | errno.EPERM), (_RETURN, 0, 0, _ALLOW)]


# A fork of a process that belongs to a process group: nobody answers it, so it must not wait for anybody.
_SHARDED = ("FSDPModule", "FullyShardedDataParallel")
_ALONE_THE_SAME = ("all_reduce", "barrier", "broadcast", "reduce")


def in_process_group() -> bool:
    """Whether this process is one of several in a process group: what runs the user's model once more would
    call the others, who do not answer, or answer the wrong question."""
    distributed = torch.distributed
    ready = distributed.is_available() and distributed.is_initialized()
    return bool(ready and distributed.get_world_size() > 1)


def is_shared(module: nn.Module) -> bool:
    """Whether it is a wrapper that keeps account of its passes for all ranks, even where there is one rank."""
    return is_a(module, DistributedDataParallel) or is_sharded(module)


def is_sharded(module: nn.Module) -> bool:
    return any(name_of_class(kind) in _SHARDED for kind in classes_of(type(module)))


def leave_process_groups() -> None:
    """For good: in the fork alone. Models run without their DistributedDataParallel."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return
    wrapper: Any = DistributedDataParallel
    wrapper.forward = _alone
    for name in _ALONE_THE_SAME:
        setattr(torch.distributed, name, lambda *arguments, **keywords: None)


def _alone(wrapper: Any, *arguments: Any, **keywords: Any) -> Any:
    wrapper.reducer._remove_autograd_hooks()  # which would wait for the others in the backward pass
    return wrapper.module(*arguments, **keywords)


# Whether there is an accelerator, without a question to its driver, whose files would stay open.
def may_have_an_accelerator() -> bool:
    if torch.version.cuda:
        sees_cuda = os.environ.get("CUDA_VISIBLE_DEVICES", "0") not in ("", "-1")
        return sees_cuda and any(glob.glob(pattern) for pattern in ("/dev/nvidia[0-9]*", "/dev/dxg"))
    if torch.version.hip:
        return os.path.exists("/dev/kfd")
    return torch.accelerator.is_available()


def gpu_or_cpu() -> str:
    """The type of device that scripts choose by torch.cuda.is_available()."""
    built = torch.version.cuda or torch.version.hip
    return "cuda" if built and may_have_an_accelerator() else "cpu"


# Silence for what is run for our own sake, which the script's own warnings do not notice.
#
# Python shows a warning of a line once. What it has shown it forgets wherever filters are changed, so that
# `warnings.catch_warnings()` in the middle of a training has every warning of its loop shown once more.
_REGISTRY = "__warningregistry__"  # of a module: what its lines have shown, under which version of the filters
_BEGUN, _ENDED = 2, 1  # versions that catch_warnings and one filter in it take; and its end


@contextlib.contextmanager
def unwarned(category: type[Warning] = Warning) -> Iterator[None]:
    """No warning of this category is shown in it, and afterwards none is that had been shown before."""
    modules = [module for module in tuple(sys.modules.values()) if isinstance(module, ModuleType)]
    registries = [module.__dict__.get(_REGISTRY) for module in modules]
    known = [(registry, dict(registry)) for registry in registries if isinstance(registry, dict)]  # with what it holds
    version = -1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", category)
            before = _filters_version(category) - _BEGUN
            try:
                yield
            finally:
                version = _filters_version(category) + _ENDED
    finally:
        for registry, shown in known:
            if shown.get("version") == before:
                registry.clear()
                registry.update(shown, version=version)


def _filters_version(ignored: type[Warning]) -> int:
    """Python writes it into a registry that it asks for a warning."""
    registry: dict[Any, Any] = {}
    warnings.warn_explicit("", ignored, __file__, 1, registry=registry)
    return int(registry.get("version", -1))
