"""The frame to stop in when a module's own forward is none of the user's: theirs that called it."""

from __future__ import annotations

import sys
import threading
from types import FrameType

from torch_debugger.anatomy.frames import is_ours, user_frame
from torch_debugger.anatomy.sources import is_user_file


def nearest_user_frame() -> FrameType:
    """Of this thread; a gradient on an accelerator comes in a thread of autograd's, then of the main one."""
    return user_frame(2) or _users_of_main_thread() or _first_of_others()


def _users_of_main_thread() -> FrameType | None:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _first_of_others() -> FrameType:
    """Code without a file (`python -c`): the outermost frame that is not ours."""
    frame = found = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        found = found if is_ours(frame) else frame
    return found
