"""Tells the parent when the script waits for the user, so that no status line lands on a prompt."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable

from torch_debugger.runlog.board import Board


def watch_prompts(board: Board) -> Callable[[], None]:
    """Marks the board while input() waits, which pdb and code.interact use as well; returns the undoing."""
    real_input = builtins.input

    @functools.wraps(real_input)
    def marked_input(*prompt: object) -> str:
        board.at_prompt += 1
        try:
            return real_input(*prompt)
        finally:
            board.at_prompt -= 1

    def restore() -> None:
        if builtins.input is marked_input:
            builtins.input = real_input

    builtins.input = marked_input
    return restore
