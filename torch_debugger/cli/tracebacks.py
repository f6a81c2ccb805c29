"""Keeps our frames out of the tracebacks that the user reads."""

from __future__ import annotations

import os
import sys
from types import TracebackType

FIRST_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child.py")


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


def hide_our_frames(error: BaseException) -> None:
    """Takes our frames off the exception and everything it is chained to."""
    waiting: list[BaseException | None] = [error]
    done: set[int] = set()
    while waiting:
        current = waiting.pop()
        if current is not None and id(current) not in done:
            done.add(id(current))
            current.__traceback__ = _without_ours(current.__traceback__)
            waiting += [current.__cause__, current.__context__, *getattr(current, "exceptions", ())]


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    first = _skip_ours(traceback)
    current = first
    while current is not None:
        current.tb_next = _skip_ours(current.tb_next)
        current = current.tb_next
    return first


def _skip_ours(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and _is_ours(traceback):
        traceback = traceback.tb_next
    return traceback


def _is_ours(traceback: TracebackType) -> bool:
    frame = traceback.tb_frame
    # The child's first file runs in the user's own __main__, so its name is no sign.
    return str(frame.f_globals.get("__name__")).startswith("torch_debugger.") or (
        frame.f_code.co_filename == FIRST_FILE
    )
