"""Exceptions that nobody catches: told through the excepthooks, and in IPython after the cell."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from torch_debugger.integrations.program import ipython_shell
from torch_debugger.tracebacks import hide_our_frames

Tell = Callable[[BaseException, bool], None]  # the exception, and whether the program goes on


class UncaughtExceptions:
    """Tells about uncaught exceptions, after the usual traceback has been shown.

    Of threads only the one that made this is heard: others may fail without harm to it.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._thread = threading.get_ident()
        self._link = _join(self)
        self._shell = ipython_shell()
        if self._shell is not None:
            self._shell.events.register("post_run_cell", self._after_cell)

    def stop(self) -> None:
        self._link.leave(self)
        if self._shell is not None:
            self._shell.events.unregister("post_run_cell", self._after_cell)
            self._shell = None

    def tell(self, error: BaseException, goes_on: bool) -> None:
        try:
            self._tell(error, goes_on)
        except Exception as fault:  # the user's own traceback has been shown; ours must not hide it
            sys.stderr.write(f"torch-debugger could not explain this: {type(fault).__name__}: {fault}\n")

    def hears(self, thread: threading.Thread | None) -> bool:
        return thread is not None and thread.ident == self._thread

    def _after_cell(self, result: Any) -> None:
        error = getattr(result, "error_in_exec", None)
        if isinstance(error, BaseException):
            self.tell(error, True)


class _Link:
    """Ours in the chains of `sys.excepthook` and `threading.excepthook`, for all who listen."""

    def __init__(self) -> None:
        self.listeners: list[UncaughtExceptions] = []
        self._before = sys.excepthook, threading.excepthook
        self._ours = self._hook, self._thread_hook
        sys.excepthook, threading.excepthook = self._ours

    def leave(self, listener: UncaughtExceptions) -> None:
        if listener in self.listeners:
            self.listeners.remove(listener)
        if self.listeners:
            return
        # Where somebody else stands before us by now, ours stays and passes everything on.
        if sys.excepthook is self._ours[0]:
            sys.excepthook = self._before[0]
        if threading.excepthook is self._ours[1]:
            threading.excepthook = self._before[1]

    def _hook(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        hide_our_frames(error)
        self._before[0](kind, error, error.__traceback__)
        for listener in reversed(self.listeners):
            listener.tell(error, hasattr(sys, "ps1"))

    def _thread_hook(self, told: threading.ExceptHookArgs) -> None:
        if told.exc_value is not None:
            hide_our_frames(told.exc_value)
        self._before[1](told)
        for listener in reversed(self.listeners):
            if told.exc_value is not None and listener.hears(told.thread):
                listener.tell(told.exc_value, False)


_link: _Link | None = None


def _join(listener: UncaughtExceptions) -> _Link:
    global _link
    if _link is None or not _link.listeners:
        _link = _Link()
    _link.listeners.append(listener)
    return _link
