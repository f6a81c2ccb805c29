"""How a traceback goes from the child to the parent, which prints the explanation above it.

The text itself travels in the log, as part of the CrashFact; one word of the board says whose turn
it is. If the parent is gone, stopped or without the record, the child prints its traceback itself.
"""

from __future__ import annotations

import os
import sys
from os import getpid

from torch_debugger.clocks import time
from torch_debugger.runlog.board import Board

OFFERED, TAKEN, SHOWN, REFUSED = 1, 2, 3, 4

_WAIT_S = 2.0
_LOOK_EVERY_S = 0.005


class Handover:
    """The child's end."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._pid, self._parent = getpid(), os.getppid()
        self._stderr = _identity_of_stderr()

    def is_possible(self) -> bool:
        """Only where the traceback would go to the very terminal or file that the parent writes to."""
        same = self._stderr is not None and self._stderr == _identity_of_stderr()
        return getpid() == self._pid and sys.stderr is sys.__stderr__ and same

    def offer(self) -> bool:
        """Whether the parent shows the traceback; waits until it has, but not for long."""
        self._board.crash = OFFERED
        deadline = time.monotonic() + _WAIT_S
        while self._board.crash in (OFFERED, TAKEN) and time.monotonic() < deadline:
            if os.getppid() != self._parent:
                return False
            time.sleep(_LOOK_EVERY_S)
        if self._board.crash == OFFERED:
            self._board.crash = REFUSED  # nobody came: a parent that wakes up later must not print it again
        return self._board.crash in (TAKEN, SHOWN)


def _identity_of_stderr() -> tuple[int, int] | None:
    try:
        stat = os.fstat(2)
    except OSError:  # closed
        return None
    return stat.st_dev, stat.st_ino
