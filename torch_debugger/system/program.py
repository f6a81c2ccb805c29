"""One sentence of ours on stderr; stdout belongs to the script."""

from __future__ import annotations

import contextlib
import os
import sys
from types import FrameType
from typing import Any


def say(sentence: str) -> None:
    # A closed stderr is no reason to disturb anybody.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.__stderr__.write(f"torch-debugger: {sentence}\n")  # type: ignore[union-attr]
        sys.__stderr__.flush()  # type: ignore[union-attr]


# The program that uses us: what it is called, which frame of it called us, and its stderr.
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


def ipython_shell() -> Any:
    """The running IPython shell, if this is one; IPython is never imported for it."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module is not None else None


def at_prompt() -> bool:
    """Whether a person types here: an interpreter's prompt, IPython or a notebook."""
    return hasattr(sys, "ps1") or ipython_shell() is not None


def say_on_sys_stderr(text: str) -> None:
    if sys.stderr is not None and not sys.stderr.closed:
        sys.stderr.write(f"torch-debugger: {text}\n")
