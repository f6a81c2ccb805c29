"""The parent's side of the watched process: how it is started, and which signals go where."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import NoReturn

from torch_debugger.log.event_files import host_in_names, writer_in_name
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import Record
from torch_debugger.runner.environment import Gathering, file_of, typed_command
from torch_debugger.runner.hang_reports import end_with_descendants
from torch_debugger.runner.launch import Orders
from torch_debugger.runner.script import Program
from torch_debugger.system.errors import DebuggerError
from torch_debugger.system.program import say
from torch_debugger.system.tracebacks import FIRST_FILE

# The terminal sends these to both of us: the child acts on them, the parent stays for the report.
_LEFT_TO_CHILD = ("SIGINT", "SIGQUIT")
# Job schedulers, `timeout` and users send these to the one process they know.
_ENDING = ("SIGTERM", "SIGHUP")
_FORWARDED = (*_ENDING, "SIGUSR1", "SIGUSR2")

Handler = Callable[[int, FrameType | None], None]


def interrupts_left_to_child() -> AbstractContextManager[None]:
    """Ctrl-C is for the script, and pressed twice it does not cost the report either."""
    return _handled(_LEFT_TO_CHILD, lambda number, frame: None)


@contextmanager
def _handled(
    names: Sequence[str], handler: Handler, *, ignored: bool = False, for_good: bool = False
) -> Iterator[None]:
    """Those that are not ignored, or those that are (by nohup, say)."""
    # A handler, not SIG_IGN, which the child would inherit.
    numbers = [getattr(signal, name) for name in names]
    handled = [number for number in numbers if (signal.getsignal(number) is signal.SIG_IGN) == ignored]
    previous = {number: signal.signal(number, handler) for number in handled}
    try:
        yield
    finally:
        for number, before in previous.items() if not for_good else ():
            signal.signal(number, before)


class ChildProcess:
    """The script, running in a process of its own on the same terminal."""

    def __init__(
        self, program: Program, orders: Orders, *, is_rank: bool = False, group_signalled: bool = False
    ) -> None:
        self.told_to_end_at: float | None = None  # on the monotonic clock, in seconds
        self._is_rank = is_rank
        # torchrun sends its signals to the whole group: the script has had them when we have.
        self._had_by_child = {getattr(signal, name) for name in _ENDING if group_signalled}
        self._early_signals: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None
        for fd in (orders.board_fd, orders.requests_fd):
            os.set_inheritable(fd, True)
        self._command = _command(program, orders)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Starts the process; until the end of the block its signals are in our care. Those of a rank stay so:
        when one has failed torchrun ends the others, also those who report on it."""
        with _handled(_FORWARDED, self._forward, for_good=self._is_rank):
            # close_fds=False: files the shell opened for the script (`script.py <(sort x)`) are its own.
            self._process = subprocess.Popen(self._command, close_fds=False)
            for number in self._early_signals:
                self._process.send_signal(number)
            # The script has inherited what is ignored, and may ask for it all the same.
            with _handled(_FORWARDED, self._forward, ignored=True, for_good=self._is_rank):
                yield

    def wait(self, timeout_s: float) -> int | None:
        """The exit status (-n for signal n), or None when the process still runs after `timeout_s`."""
        try:
            return self._started().wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def wait_for_end(self) -> int:
        return self._started().wait()

    def end_at_once(self) -> None:
        """With everything it has started."""
        end_with_descendants(self._started().pid)

    def _started(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "waited for a child before it was started"
        return self._process

    @property
    def pid(self) -> int:
        return self._started().pid

    def _forward(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM and self.told_to_end_at is None:
            self.told_to_end_at = time.monotonic()
        if self._process is None:
            self._early_signals.append(number)
        elif number not in self._had_by_child:
            self._process.send_signal(number)


def _command(program: Program, orders: Orders) -> Sequence[str]:
    flags = interpreter_flags(sys.orig_argv)
    return [sys.executable, *flags, FIRST_FILE, orders.to_json(), program.target, *program.arguments]


def run_instead_of_us(program: Program) -> NoReturn:
    """As Python itself would; this process is the script's from here on."""
    os.execv(sys.executable, [sys.executable, *interpreter_flags(sys.orig_argv), *program.words])


def interpreter_flags(command: Sequence[str]) -> list[str]:
    """Those of the interpreter, as they were typed. What the environment says besides, the child hears itself,
    and the script does not expect it in sys.orig_argv."""
    flags: list[str] = []
    words = iter(command[1:])
    for word in words:
        parts = re.fullmatch(r"-(?!-|$)([^cmWX]*)([cmWX]?)(.*)", word, re.DOTALL)
        if parts is None:
            break
        letters, last, value = parts.groups()
        if last in ("c", "m"):  # here the program begins
            flags += [f"-{letters}"] if letters else []
            break
        flags.append(word)
        if last and not value:
            flags.append(next(words, ""))
    return flags


# What the parent itself writes into the log folder, in an event file of its own: the surroundings, and of a rank who
# it is and how it ended.
#
# The file is made before the child's, so that it comes first by name: TensorBoard reads a folder's files one after
# the other and never goes back to one when a later one has begun.
_OWN_PART = 20

Tell = Callable[[Record], object]


@contextmanager
def own_log(folder: str, program: Program | None, limit_bytes: int) -> Iterator[Tell]:
    """What takes records of the parent's own: a small part of what the log may hold. The surroundings of the
    program, if one is given, are gathered beside, and done or given up when the block is left."""
    try:
        writer = LogWriter(folder, limit_bytes=limit_bytes // _OWN_PART, on_fault=_is_said_by_the_child)
    except DebuggerError as error:
        _is_said_by_the_child(str(error))
        yield no_log
        return
    gathering = _gathering(program, writer) if program is not None else None
    try:
        yield writer.add
    finally:
        if gathering is not None:
            gathering.wait()
        writer.close()


def log_late(folder: str, records: Sequence[Record], limit_bytes: int, child: int) -> None:
    """What the child had not yet written when it was killed, in a file behind its own: as much as fits."""
    if not records:
        return
    left_bytes = limit_bytes - limit_bytes // _OWN_PART - _written_bytes(folder, child, os.getpid())
    try:
        writer = LogWriter(folder, limit_bytes=max(left_bytes, 0), on_fault=_is_said_by_the_child)
    except DebuggerError as error:
        _is_said_by_the_child(str(error))
        return
    for record in records:
        writer.add(record)
    writer.close()


def _written_bytes(folder: str, *processes: int) -> int:
    writers = {(host_in_names(), process) for process in processes}
    return sum(file.stat().st_size for file in os.scandir(folder) if writer_in_name(file.name) in writers)


def no_log(record: Record) -> None:
    """Where there is nowhere to write it."""


def _gathering(program: Program, writer: LogWriter) -> Gathering:
    script = file_of(program.target, module=program.module)
    return Gathering(typed_command(), script, writer.add, say)


def _is_said_by_the_child(fault: str) -> None:
    """A full disk or a deleted folder: it writes to the same one, and far more."""
