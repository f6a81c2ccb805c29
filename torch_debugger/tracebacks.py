"""Keeps our frames out of the tracebacks that the user reads."""

from __future__ import annotations

import os
from types import TracebackType

# The child's first file runs in the user's own __main__, so only its path tells that it is ours.
FIRST_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cli", "child.py")


def hide_our_frames(error: BaseException) -> None:
    """Takes our frames off the exception and everything it is chained to."""
    waiting: list[BaseException | None] = [error]
    done: set[int] = set()
    while waiting:
        current = waiting.pop()
        if current is not None and id(current) not in done:
            done.add(id(current))
            # By way of the base class: an exception may refuse to have its attributes set.
            BaseException.with_traceback(current, _without_ours(current.__traceback__))
            waiting += [current.__cause__, current.__context__, *_parts(current)]


def _parts(error: BaseException) -> tuple[BaseException, ...]:
    """Of an exception group; other classes may mean anything by that name."""
    try:
        parts = getattr(error, "exceptions", ())
    except Exception:  # the user's own attribute, and the user's own fault: it has no parts that we can tell
        return ()
    return tuple(part for part in parts if isinstance(part, BaseException)) if type(parts) is tuple else ()


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
    return str(frame.f_globals.get("__name__")).startswith("torch_debugger.") or (
        frame.f_code.co_filename == FIRST_FILE
    )
