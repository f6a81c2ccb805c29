"""Stacks of this process's threads, read without running anything in them."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from torch_debugger.anatomy.frames import place_of
from torch_debugger.anatomy.sources import is_user_file, package_folder
from torch_debugger.records import Place, StackLine

_DEEPEST = 100
Path = tuple[tuple[int, int], ...]  # code and instruction of each frame of the user's


def current_frame(thread: int) -> FrameType | None:
    """Without a collection of garbage meanwhile: what it frees of the user's would be freed by this thread."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames().get(thread)
    finally:
        if collects:
            gc.enable()


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Innermost first, without frames of ours."""
    while frame is not None:
        if not frame.f_code.co_filename.startswith(package_folder()):
            yield frame
        frame = frame.f_back


def users_path(frame: FrameType | None) -> Path:
    """Where the user's functions are; what a library does below them may change."""
    return tuple(
        (id(each.f_code), each.f_lasti) for each in outwards(frame) if is_user_file(each.f_code.co_filename)
    )


def users_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost of the user's."""
    return next((each for each in outwards(frame) if is_user_file(each.f_code.co_filename)), None)


def lines_of(frame: FrameType | None) -> tuple[StackLine, ...]:
    """Outermost first."""
    found = [_line(each) for each in outwards(frame)]
    return tuple(reversed(found[:_DEEPEST]))


def _line(frame: FrameType) -> StackLine:
    code = frame.f_code
    users = is_user_file(code.co_filename)
    place = place_of(frame) if users else Place(code.co_filename, frame.f_lineno)
    return StackLine(place, str(getattr(code, "co_qualname", code.co_name)), users)


def other_threads(asked: int) -> list[tuple[threading.Thread, FrameType]]:
    """Those of the user's and of libraries; threads of ours are of no interest."""
    frames = sys._current_frames()
    known = [thread for thread in threading.enumerate() if thread.ident not in (None, asked)]
    found = [(thread, frames.get(thread.ident or 0)) for thread in known if not _is_ours(thread)]
    return [(thread, frame) for thread, frame in found if frame is not None]


def _is_ours(thread: threading.Thread) -> bool:
    return thread.name.startswith(("torch-debugger", "torch_debugger"))
