"""The program that uses us: what it is called, which frame of it called us, and its stderr."""

from __future__ import annotations

import os
import sys
from types import FrameType


def script_name() -> str:
    """train.py; in notebooks and at prompts there is no file."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.basename(file) if file else "this session"


def caller() -> FrameType:
    """The frame outside the file that asks: where the user's names are."""
    frame = sys._getframe(1)
    asking = frame.f_code.co_filename
    while frame.f_code.co_filename == asking and frame.f_back is not None:
        frame = frame.f_back
    return frame


def say(text: str) -> None:
    if sys.stderr is not None and not sys.stderr.closed:
        sys.stderr.write(f"torch-debugger: {text}\n")
