"""Whose line is it: from the running frame out to the user's own code."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from torch_debugger.anatomy.sources import is_user_file, package_folder, place_at
from torch_debugger.records import Place

_left_with: list[FrameType] = []  # frames that were asked by another thread
_MOST_LEFT = 8


def frames(skip: int = 1) -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(skip)
    while frame is not None:
        yield frame
        frame = frame.f_back


def user_frame(skip: int = 1) -> FrameType | None:
    """The innermost frame that is the user's own code."""
    frame: FrameType | None = sys._getframe(skip)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def call_frame(frame: FrameType | None) -> FrameType | None:
    """The frame of the module call around a hook; its `kwargs` are those of the call."""
    code = _call_code()
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


@functools.cache
def _call_code() -> CodeType:
    from torch import nn

    return nn.Module._call_impl.__code__


def locals_of(frame: FrameType) -> dict[str, Any]:
    """The variables of a frame of this thread, in a dictionary of our own.

    Before Python 3.13 asking a function's frame leaves a snapshot with it, which keeps a batch alive
    that the function has let go of long ago. It is emptied, unless somebody else may want it. A
    function that calls locals() is not asked: what it got from there is that very snapshot, and would grow.
    """
    if _is_snapshot(frame.f_code) and _asks_for_locals(frame.f_code):
        return {}
    held = frame.f_locals
    found = dict(held)
    # Three references: the frame's, ours, and the one to the function that counts.
    if _is_snapshot(frame.f_code) and sys.getrefcount(held) <= 3 and held.keys() <= _names(frame.f_code):
        held.clear()
    return found


def locals_elsewhere(frame: FrameType, *, lasting: bool = False) -> dict[str, Any]:
    """The variables of a frame that another thread runs, which keeps its snapshot; of a `lasting` one until
    `let_go_of_snapshots`.

    Before Python 3.13 a thread under a trace function (ours, a debugger's) takes its variables back from the
    snapshot after every line: if it were emptied in between, they would all be gone.
    """
    if not _is_snapshot(frame.f_code):
        return dict(frame.f_locals)
    if _asks_for_locals(frame.f_code):
        return {}
    if lasting and len(_left_with) < _MOST_LEFT and frame not in _left_with:
        _left_with.append(frame)
    return dict(frame.f_locals)


def let_go_of_snapshots() -> None:
    """In the thread that runs the frames, from time to time: what others left with them would keep alive what
    their functions have long let go of."""
    while _left_with:
        locals_of(_left_with.pop())


def _is_snapshot(code: CodeType) -> bool:
    return sys.version_info < (3, 13) and bool(code.co_flags & inspect.CO_OPTIMIZED)


@functools.lru_cache(maxsize=512)
def _asks_for_locals(code: CodeType) -> bool:
    if "locals" not in code.co_names and "vars" not in code.co_names:
        return False
    loads = [step for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"]
    return any(step.argval in ("locals", "vars") for step in loads)  # and not an attribute of that name


def _names(code: CodeType) -> set[str]:
    """The variables of the function itself; exec() puts others into the snapshot and nowhere else."""
    return {*code.co_varnames, *code.co_cellvars, *code.co_freevars}


def is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(package_folder())


def place_of(frame: FrameType | None, module: str | None = None) -> Place:
    if frame is None:
        return Place(module=module)
    return place_at(frame.f_code.co_filename, frame.f_lineno, module)
