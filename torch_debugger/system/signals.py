"""Handlers of signals run wherever the main thread is, in our code too: what they raise is the script's.

While a probe looks, the script's handlers wait; they run when the look is over, with the frame of the script's
own that is under way. So nothing that they raise is taken for a fault of ours or caught by an `except` of ours.
"""

from __future__ import annotations

# The public functions ask a handler for its repr, and asyncio's shows the exception of its task, with its repr.
import _signal  # type: ignore[import-not-found]
import contextlib
import dis
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import FrameType, TracebackType
from typing import Any

from torch_debugger.system.clocks import time
from torch_debugger.system.tracebacks import hidden_in_tracebacks, is_user_path

Handler = Callable[[int, "FrameType | None"], Any]

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LONGEST_S = 1.0  # then a handler does not wait any longer: it may be there to end what takes so long
_WORDLESS = (StopIteration, StopAsyncIteration, MemoryError)  # as C raises them
_RAISING = {dis.opmap[name] for name in ("RAISE_VARARGS", "RERAISE")}


class Looking:
    """Whether the main thread is in a look of ours, and which handlers wait for its end."""

    def __init__(self) -> None:
        self.since_s = 0.0  # 0: it is not
        self._waiting: list[tuple[Handler, int]] = []

    def end(self) -> None:
        self.since_s = 0.0
        while self._waiting:  # if one raises, the others run after the next look
            handler, number = self._waiting.pop(0)
            handler(number, _script_frame())

    def is_waited_for(self) -> bool:
        return self.since_s > 0.0 and time.perf_counter() - self.since_s <= _LONGEST_S

    def put_off(self, handler: Handler, number: int) -> None:
        self._waiting.append((handler, number))


looking = Looking()


class _Patient:
    """In the place of a handler of the script's, and never in the traceback of what that raises: which one is
    called is chosen when Python asks for `__call__`, and it is called by Python itself."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler

    @property
    def __call__(self) -> Handler:
        return self._wait if looking.is_waited_for() else self.handler

    def _wait(self, number: int, frame: FrameType | None) -> None:
        looking.put_off(self.handler, number)


class OwnThread(threading.Thread):
    """One that takes no signals: what the script has blocked, to wait for it, would be lost in here."""

    def __init__(self, target: Callable[[], None], name: str) -> None:
        super().__init__(target=target, name=name, daemon=True)

    def join(self, timeout: float | None = None) -> None:
        if self.ident is not None:  # the system may have given no thread
            super().join(timeout)

    def start(self) -> None:
        mask = getattr(_signal, "pthread_sigmask", None)
        before = mask(_signal.SIG_BLOCK, _signal.valid_signals()) if mask is not None else ()
        try:
            super().start()
        finally:
            if mask is not None:
                mask(_signal.SIG_SETMASK, before)


def watch_handlers(replace: Callable[[Any, str, Callable[[Any], Any]], None]) -> None:
    """Those that are set already, and those to come."""
    replace(signal, "signal", _around_signal)
    replace(signal, "getsignal", _around_getsignal)
    _replace_handlers(lambda handler: _Patient(handler) if _may_raise(handler) else handler)


def leave_handlers() -> None:
    _replace_handlers(_real)


def _replace_handlers(change: Callable[[Any], Any]) -> None:
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread may
    for number in signal.valid_signals():
        handler = _signal.getsignal(number)
        if (changed := change(handler)) is not handler:
            _signal.signal(number, changed)


def _may_raise(handler: Any) -> bool:
    """KeyboardInterrupt, by Python's own handler of Ctrl-C, passes through our code as it is."""
    return callable(handler) and handler is not signal.default_int_handler and type(handler) is not _Patient


def _real(handler: Any) -> Any:
    return handler.handler if type(handler) is _Patient else handler


def _public_handler(handler: Any) -> Any:
    """As `signal` tells it: that looks for it among its constants, by the script's own `__eq__`."""
    if type(handler) is not _Patient:
        return handler
    return signal._int_to_enum(handler.handler, signal.Handlers)  # type: ignore[attr-defined]


def _around_signal(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def signal(signalnum: Any, handler: Any) -> Any:
        with hidden_in_tracebacks:
            return _public_handler(original(signalnum, _Patient(handler) if _may_raise(handler) else handler))

    return signal


def _around_getsignal(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def getsignal(signalnum: Any) -> Any:
        with hidden_in_tracebacks:
            return _public_handler(original(signalnum))

    return getsignal


def _script_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


@contextlib.contextmanager
def alarms_deferred() -> Iterator[None]:
    """torch's handler of SIGCHLD raises wherever the main thread is: not in the middle of an explanation."""
    here = threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGCHLD")
    handler = _signal.getsignal(signal.SIGCHLD) if here else None
    if not callable(handler):
        yield
        return
    _signal.signal(signal.SIGCHLD, lambda number, frame: None)
    try:
        yield
    finally:
        _signal.signal(signal.SIGCHLD, handler)


def is_the_scripts(error: BaseException) -> bool:
    """Whether it was meant for the script, and only met us on its way: raised by a handler of a signal, thrown
    in by another thread (`PyThreadState_SetAsyncExc`), or Ctrl-C. What an object of the script's raises because
    we look at it is not, even if it is SystemExit."""
    if isinstance(error, (KeyboardInterrupt, GeneratorExit)):
        return True
    entries = _entries(error)
    if any(_was_handed(after.tb_frame, before.tb_frame) for before, after in pairwise(entries)):
        return True
    if not entries:
        return False
    file = entries[-1].tb_frame.f_code.co_filename
    if isinstance(error, SystemExit) and file.startswith(_OURS):  # --max-steps, a breakpoint that is quit
        return True
    if isinstance(error, SystemExit) and is_user_path(file):
        return False
    return not error.args and not isinstance(error, _WORDLESS) and not is_raised_in_python(error)


def is_raised_in_python(error: BaseException) -> bool:
    """By a `raise`; else by a function in C, or from outside."""
    entries = _entries(error)
    return bool(entries) and entries[-1].tb_frame.f_code.co_code[entries[-1].tb_lasti] in _RAISING


def _entries(error: BaseException) -> list[TracebackType]:
    entries, entry = [], error.__traceback__
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    return entries


def _was_handed(frame: FrameType, interrupted: FrameType) -> bool:
    """A handler gets the frame in the middle of which it is called."""
    for value in frame.f_locals.values():
        if value is interrupted or (type(value) is tuple and any(each is interrupted for each in value)):
            return True
    return False
