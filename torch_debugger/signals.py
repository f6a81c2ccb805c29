"""Handlers of signals run wherever the main thread is, in our code too: what they raise is not ours."""

from __future__ import annotations

# The public functions ask a handler for its repr, and asyncio's shows the exception of its task, with its repr.
import _signal  # type: ignore[import-not-found]
import contextlib
import signal
import threading
import traceback
from collections.abc import Iterator


@contextlib.contextmanager
def alarms_held() -> Iterator[None]:
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


def came_by_signal(error: BaseException) -> bool:
    """Whether a signal's handler raised it: it was meant for the script, and only met us on its way."""
    handlers = [_signal.getsignal(number) for number in signal.valid_signals()]
    codes = {getattr(getattr(handler, "__func__", handler), "__code__", None) for handler in handlers} - {None}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))
