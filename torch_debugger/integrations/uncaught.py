"""Exceptions that nobody catches: told through sys.excepthook, and in IPython after the cell."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

Tell = Callable[[BaseException], None]


class UncaughtExceptions:
    """Tells about the first uncaught exception, after the usual traceback has been shown."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._before = sys.excepthook
        sys.excepthook = self._hook
        self._ours = sys.excepthook
        self._shell = _ipython()
        if self._shell is not None:
            self._shell.events.register("post_run_cell", self._after_cell)

    def stop(self) -> None:
        if sys.excepthook is self._ours:
            sys.excepthook = self._before
        if self._shell is not None:
            self._shell.events.unregister("post_run_cell", self._after_cell)
            self._shell = None

    def _hook(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        self._before(kind, error, trace)
        self._contained(error)

    def _after_cell(self, result: Any) -> None:
        error = getattr(result, "error_in_exec", None)
        if isinstance(error, BaseException):
            self._contained(error)

    def _contained(self, error: BaseException) -> None:
        try:
            self._tell(error)
        except Exception as fault:  # the user's own traceback has been shown; ours must not hide it
            sys.stderr.write(f"torch-debugger could not explain this: {type(fault).__name__}: {fault}\n")


def _ipython() -> Any:
    """The running IPython shell, if this is one; IPython is never imported for it."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module is not None else None
