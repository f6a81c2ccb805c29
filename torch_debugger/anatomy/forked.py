"""Something run in a fork of this process: what it does, breaks or kills is lost with the fork."""

from __future__ import annotations

import faulthandler
import gc
import logging
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Callable

import torch

from torch_debugger.anatomy.accelerators import may_have_an_accelerator
from torch_debugger.anatomy.alone import leave_process_groups
from torch_debugger.anatomy.unwarned import unwarned
from torch_debugger.clocks import time

_PAUSE_S = 0.03  # between two looks: they are system calls, and steps may be short
_ARM = ("aarch64", "arm64")


_inside = False
_writing = -1


def result_fd() -> int:
    """Where such a fork writes its result, which nothing in it may close."""
    return _writing


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

    def __init__(
        self, task: Callable[[], str], timeout_s: float, urgent: bool = False, kernels: bool = True
    ) -> None:
        started = time.perf_counter()
        self._text = b""
        self._looked = 0.0
        self.ended: str | None = None  # None while it runs, then: done | timeout | died
        self._reading, writing = os.pipe()
        self.pid = _fork()
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
            self._reap()
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

    def _reap(self) -> None:
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:  # the script itself waits for its children, and met ours
            pid, status = self.pid, 0
        if pid:
            self._finish(status)

    def _finish(self, status: int) -> None:
        self._read()
        os.close(self._reading)
        timed_out = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
        self.ended = "timeout" if timed_out else "done" if self._text else "died"


def _fork() -> int:
    # Python 3.12 warns of forks beside threads; the child uses one thread, and has a timeout.
    with unwarned(DeprecationWarning):
        return os.fork()


def _be_the_child(task: Callable[[], str], writing: int, timeout_s: float, urgent: bool, kernels: bool) -> None:
    global _inside, _writing
    status, _inside, _writing = 1, True, writing
    try:
        _set_alarm(timeout_s)
        _touch_nothing_outside()
        leave_process_groups()
        if not urgent:
            os.nice(10)
        _use_one_thread(kernels)
        os.write(writing, task().encode())
        status = 0
    finally:
        os._exit(status)  # no atexit, no flush: the buffers hold the user's text, which the parent prints


def _use_one_thread(kernels: bool) -> None:
    """Threads of the parent's pools do not exist here: waiting for them hangs.

    On ARM oneDNN hands convolutions and linear layers to the Arm Compute Library, which does not keep to
    the number of threads that torch is told; torch's own kernels do.
    """
    torch.set_num_threads(1)
    if kernels and has_other_kernels():
        torch._C._set_mkldnn_enabled(False)


def _set_alarm(timeout_s: float) -> None:
    for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.setitimer(signal.ITIMER_REAL, timeout_s)


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
