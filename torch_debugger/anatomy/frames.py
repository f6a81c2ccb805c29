"""Whose line is it: from the running frame out to the user's own code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

from torch_debugger.anatomy.sources import is_user_file, package_folder, place_at
from torch_debugger.records import Place


def frames(skip: int = 1) -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(skip)
    while frame is not None:
        yield frame
        frame = frame.f_back


def user_frame(skip: int = 1) -> FrameType | None:
    """The innermost frame that is the user's own code."""
    for frame in frames(skip + 1):
        if is_user_file(frame.f_code.co_filename):
            return frame
    return None


def is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(package_folder())


def place_of(frame: FrameType | None, module: str | None = None) -> Place:
    if frame is None:
        return Place(module=module)
    return place_at(frame.f_code.co_filename, frame.f_lineno, module)
