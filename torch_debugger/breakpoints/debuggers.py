"""Which debugger stops: pdb, what PYTHONBREAKPOINT names, or what an IDE has put into sys.breakpointhook."""

from __future__ import annotations

import bdb
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from torch_debugger.breakpoints.telling import place_in_words, variables_of
from torch_debugger.saying import say

# They talk to the user through the terminal; others (debugpy, remote debuggers) have their own way.
_ON_A_TERMINAL = ("pdb", "ipdb", "pudb", "IPython", "_pytest", "sys")

Debugger = Callable[[], Any]


class NoStopError(Exception):
    """No stop here, and why."""


def named_debugger() -> Debugger | None:
    """None for plain pdb; NoStopError where the environment says that nothing stops."""
    if sys.breakpointhook is not sys.__breakpointhook__:
        return _usable(sys.breakpointhook)
    word = os.environ.get("PYTHONBREAKPOINT", "")
    if word == "0":
        raise NoStopError("PYTHONBREAKPOINT is 0")
    if word in ("", "pdb.set_trace"):
        _require_terminal()
        return None
    return _usable(_load(word))


def _usable(debugger: Debugger) -> Debugger:
    home = str(getattr(debugger, "__module__", None) or "sys").split(".")[0]
    if home in _ON_A_TERMINAL:
        _require_terminal()
    return debugger


def _load(word: str) -> Debugger:
    home, _, name = word.rpartition(".")
    try:
        found: Debugger = getattr(importlib.import_module(home or "builtins"), name)
    except (ImportError, AttributeError, ValueError):
        raise NoStopError(f"PYTHONBREAKPOINT names {word}, which cannot be imported") from None
    return found


def _require_terminal() -> None:
    if _in_a_notebook():
        return
    for name in ("stdin", "stdout"):
        if not _is_terminal(getattr(sys, f"__{name}__")):
            raise NoStopError(f"{name} is not a terminal")


def has_terminal() -> bool:
    try:
        _require_terminal()
    except NoStopError:
        return False
    return True


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError, OSError):  # None, or closed
        return False


def _in_a_notebook() -> bool:
    """A kernel whose front end answers input(), as pdb asks it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return bool(getattr(getattr(shell, "kernel", None), "_allow_stdin", False))


def call_in(frame: FrameType, debugger: Debugger, names: Mapping[str, Any]) -> None:
    """Calls a debugger that stops in its caller: a frame on the user's line, with their variables."""
    held = {**names, **variables_of(frame), "__debugger__": debugger}
    code = compile("\n" * (frame.f_lineno - 1) + "__debugger__()", frame.f_code.co_filename, "exec")
    try:
        exec(code.replace(co_name=frame.f_code.co_name), frame.f_globals, held)
    except bdb.BdbQuit:
        say(f"quit at the prompt, {place_in_words(frame)}.")
        raise SystemExit(1) from None
