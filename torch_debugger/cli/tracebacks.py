"""For an exception that ends the watched script: its traceback as plain python would show it."""

from __future__ import annotations

import sys
from types import TracebackType

from torch_debugger.tracebacks import hide_our_frames


def hide_our_frames_at_exit() -> None:
    """For an exception that is about to end the interpreter: the user's own excepthook
    gets it as it would have come without us."""
    users_hook = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        sys.excepthook = users_hook
        hide_our_frames(error)
        sys.last_traceback = error.__traceback__
        users_hook(kind, error, error.__traceback__)

    sys.excepthook = hook
