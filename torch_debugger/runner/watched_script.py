"""One session around one program. Whatever goes wrong in here stays in here: the script runs on."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import getpid
from typing import TYPE_CHECKING, NoReturn

from torch_debugger.log.process_channels import Board, RequestReader
from torch_debugger.records import Record
from torch_debugger.records.sinks import Sink
from torch_debugger.runner.rank_process import rank_wrapper
from torch_debugger.runner.script import Program
from torch_debugger.settings import Settings
from torch_debugger.system.errors import DebuggerError
from torch_debugger.system.program import say
from torch_debugger.system.signals import alarms_deferred
from torch_debugger.system.tracebacks import is_left_by_hand

if TYPE_CHECKING:
    from torch_debugger.log.writer import LogWriter
    from torch_debugger.runner.session import Session


class ScriptWatch:
    """Starts the session before the program, hears how the program ended, and ends the session."""

    def __init__(
        self,
        program: Program,
        settings: Settings,
        *,
        sinks: Sequence[Sink] = (),
        board: Board | None = None,
        requests: RequestReader | None = None,
        rank: int | None = None,
    ) -> None:
        self._program = program
        self._settings = settings
        limits = settings.log_limit_bytes, settings.log_rotate_bytes
        self._log = LateLog(settings.log_dir, *limits, rank) if settings.log_dir else None
        self._sinks = [*sinks, *([self._log] if self._log else [])]
        self._board = board
        self._requests = requests
        self._session: Session | None = None
        self._pid = getpid()
        self.outcome = "finished"

    def start(self) -> None:
        self._attempt(self._start)

    @alarms_deferred()  # a worker that breaks a connection first and ends a moment later
    def saw(self, error: BaseException) -> None:
        """The program ended with this exception."""
        self.outcome = _outcome(error)
        if self.outcome == "crashed":
            self._attempt(lambda: self._crash(error))
        elif isinstance(error, KeyboardInterrupt):
            self._attempt(lambda: self._session.interrupted(error) if self._session is not None else None)

    def tell(self, record: Record) -> None:
        """A fact that others have found out."""
        log = self._log
        if log is not None:
            self._attempt(lambda: log.add(record))

    def end(self) -> None:
        with undisturbed():
            self._attempt(self._end)

    def _start(self) -> None:
        from torch_debugger.runner.session import Session

        script, arguments = self._program.target, self._program.arguments
        self._session = Session(
            self._settings, script, arguments, self._sinks, board=self._board, requests=self._requests
        )
        if self._board is not None:  # a process of the script's own
            self._session.leave = self._leave
            self._session.wrap_ranks = rank_wrapper(self._program, self._settings)
        self._session.start()

    def _leave(self) -> NoReturn:
        """Without the script's own end, which would save what it has not trained over what it has."""
        self.end()
        for child in multiprocessing.active_children():
            child.kill()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)

    def _crash(self, error: BaseException) -> None:
        if self._session is not None:
            self._session.crash(error)
        if self._log is not None:
            self._log.flush()  # an excepthook of the script's may end the process at once

    def _end(self) -> None:
        if self._session is not None:
            self._session.end(self.outcome)
        if self._log is not None:
            self._log.close()

    def _attempt(self, deed: Callable[[], None]) -> None:
        if getpid() != self._pid:
            return  # a fork of the script's that ends like its parent
        try:
            deed()
        except Exception as error:
            say(f"a fault of its own ({type(error).__name__}: {error}); your script is not touched by it.")


@contextmanager
def undisturbed() -> Iterator[None]:
    """The script has ended already: what comes now must not cost the log its end. A second Ctrl-C is too late;
    a SIGTERM, as mp.spawn sends it to the other ranks when one has failed, is passed on when all is written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    before_term = signal.getsignal(signal.SIGTERM)
    if before_term is not None:
        signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
        if before_term is not None:
            signal.signal(signal.SIGTERM, before_term)
        for number in received:
            os.kill(getpid(), number)


def _outcome(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "finished" if error.code in (None, 0) else "stopped"
    return "stopped" if is_left_by_hand(error) else "crashed"


# The log of a process that must not import numpy before its script does.
#
# Importing numpy starts its thread pools, so a script that sets OMP_NUM_THREADS on its first line would come too
# late. The few records made before are kept until numpy is there.
class LateLog:
    """A sink that opens the log writer when it may."""

    def __init__(self, folder: str, limit_bytes: int, rotate_bytes: int, rank: int | None = None) -> None:
        self._folder = folder
        self._rank = rank  # None: as the environment has it
        self._limit_bytes, self._rotate_bytes = limit_bytes, rotate_bytes
        self._waiting: list[Record] = []
        self._refused = False  # no file could be made: said once, and the script runs without a log
        self._writer: LogWriter | None = None
        self._opening = threading.Lock()
        self._pid = getpid()

    def add(self, record: Record) -> None:
        if self._writer is not None:
            self._writer.add(record)
        elif getpid() == self._pid and not self._refused:
            self._waiting.append(record)
            if "numpy" in sys.modules or "torch" in sys.modules:
                self._open()

    @property
    def cpu_s(self) -> float:
        """What the writer's thread has cost so far."""
        return self._writer.cpu_s if self._writer is not None else 0.0

    def flush(self) -> None:
        self._open()
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        self._open()
        if self._writer is not None:
            self._writer.close()

    def _open(self) -> None:
        with self._opening:
            if self._writer is None and not self._refused:
                self._writer = self._make_writer()
                self._refused = self._writer is None
                self._waiting.clear()

    def _make_writer(self) -> LogWriter | None:
        from torch_debugger.log.writer import LogWriter

        try:
            writer = LogWriter(
                self._folder,
                limit_bytes=self._limit_bytes,
                rotate_bytes=self._rotate_bytes,
                on_fault=say,
                rank=self._rank,
            )
        except DebuggerError as error:
            say(str(error))
            return None
        for record in self._waiting:
            writer.add(record)
        return writer


# `--pdb`: after a crash has been explained, pdb in the frame of the user's code that crashed.
def look_into_crash(error: BaseException) -> None:
    """Returns when the user is done; Ctrl-C and exits are no crashes."""
    if not isinstance(error, Exception):
        return
    try:
        from torch_debugger.probes.breakpoints_stops import post_mortem

        post_mortem(error.__traceback__)
    except Exception as fault:  # the script has ended as it did, whatever becomes of the look into it
        say(f"the post-mortem failed ({type(fault).__name__}: {fault}).")
