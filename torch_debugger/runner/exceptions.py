"""`with explaining():` and `@explaining()`: an exception that leaves is explained on stderr and goes on.

Nothing is watched, and nothing of ours is loaded before an exception comes: its frames hold it all.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, cast

from torch_debugger.source.objects import own_attributes
from torch_debugger.system.program import ipython_shell, say_on_sys_stderr
from torch_debugger.system.tracebacks import hide_our_frames

Function = TypeVar("Function", bound=Callable[..., Any])


class explaining:  # noqa: N801  used like a function
    """Explains an exception that leaves the block or the function, unless that has been done."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # KeyboardInterrupt, SystemExit and GeneratorExit end something on purpose.
        if isinstance(error, Exception):
            _tell(error)

    def __call__(self, function: Function) -> Function:
        explained: Any
        if inspect.iscoroutinefunction(function):

            async def explained(*arguments: Any, **keywords: Any) -> Any:
                with self:
                    return await function(*arguments, **keywords)

        elif inspect.isgeneratorfunction(function):

            def explained(*arguments: Any, **keywords: Any) -> Any:
                with self:
                    return (yield from function(*arguments, **keywords))

        else:

            def explained(*arguments: Any, **keywords: Any) -> Any:
                with self:
                    return function(*arguments, **keywords)

        return cast(Function, functools.wraps(function)(explained))


def _tell(error: BaseException) -> None:
    """Whatever happens here stays here: the user's exception must go on."""
    try:
        hide_our_frames(error)
        if not is_explained(error) and not _is_reported_at_end():
            from torch_debugger.runner.explanations import explain

            explain(error)
    except Exception as fault:
        say_on_sys_stderr(f"could not explain this ({type(fault).__name__}: {fault}).")


def _is_reported_at_end() -> bool:
    plumbing = sys.modules.get("torch_debugger.runner.plumbing")
    return plumbing is not None and bool(plumbing.is_reported_at_end())


# Exceptions that nobody catches: told through the excepthooks, and in IPython after the cell.
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

    def _thread_hook(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            hide_our_frames(args.exc_value)
        self._before[1](args)
        for listener in reversed(self.listeners):
            if args.exc_value is not None and listener.hears(args.thread):
                listener.tell(args.exc_value, False)


_link: _Link | None = None


def _join(listener: UncaughtExceptions) -> _Link:
    global _link
    if _link is None or not _link.listeners:
        _link = _Link()
    _link.listeners.append(listener)
    return _link


# Which exceptions have been explained: of several who could, one speaks.
_MARK = "_torch_debugger_explained"
_CHAIN_LENGTH = 20


def is_explained(error: BaseException) -> bool:
    """Whether it was explained, or what it was raised from: the explanation of a cause is that of both."""
    current: BaseException | None = error
    for _ in range(_CHAIN_LENGTH):
        if current is None or _MARK in own_attributes(current):
            break
        current = current.__cause__
    return current is not None and _MARK in own_attributes(current)


def mark_explained(error: BaseException) -> None:
    own_attributes(error)[_MARK] = True
