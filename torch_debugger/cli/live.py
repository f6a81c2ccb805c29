"""--live: a status row at the bottom of the terminal, below a scroll region that holds everything else."""

from __future__ import annotations

import os
import signal
from types import FrameType

from torch_debugger.cli.status import Progress, announcement, write, write_line
from torch_debugger.records import Finding

# Control sequences every terminal since the VT100 knows.
_SAVE, _RESTORE = "\x1b7", "\x1b8"
_DOWN_THEN_UP = "\x1bD\x1b[A"  # scrolls by one when the cursor is on the last row; the column stays
_WHOLE_SCREEN = "\x1b[r"
_REVERSE, _PLAIN = "\x1b[7m", "\x1b[m"


class LiveRow:
    """Owns the last row from construction to close; follows the terminal's size."""

    every_s = 0.5

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._size = os.terminal_size((0, 0))
        self._text = "waiting for the first step"
        self._last_s = 0.0
        self._last_news = (0, 0)  # step, findings
        self._shells_handler = signal.signal(signal.SIGTSTP, self._suspend)
        self._open()

    def update(self, progress: Progress, now_s: float) -> None:
        if self._size != self._terminal_size():
            self._fit()
        news = progress.step, len(progress.findings)
        if news != self._last_news and now_s - self._last_s >= self.every_s:
            self._last_news, self._last_s = news, now_s
            self._text = progress.text
            self._draw()

    def announce(self, finding: Finding) -> None:
        write_line(self._fd, announcement(finding))

    def close(self) -> None:
        """Gives the row back; the cursor stays where the script left it."""
        signal.signal(signal.SIGTSTP, self._shells_handler)
        self._leave()

    def _open(self) -> None:
        self._size = self._terminal_size()
        region = f"\x1b[1;{self._size.lines - 1}r"
        write(self._fd, f"{_DOWN_THEN_UP}{_SAVE}{region}{_RESTORE}")
        self._draw()

    def _leave(self) -> None:
        write(self._fd, f"{_SAVE}{_WHOLE_SCREEN}{self._at_row()}\x1b[2K{_RESTORE}")

    def _fit(self) -> None:
        """The terminal has a new size: its row moves; a taller terminal still shows the old one."""
        if self._terminal_size().lines > self._size.lines:
            self._leave()
        self._open()

    def _draw(self) -> None:
        text = f" torch-debugger: {self._text}"[: self._size.columns].ljust(self._size.columns)
        write(self._fd, f"{_SAVE}{self._at_row()}{_REVERSE}{text}{_PLAIN}{_RESTORE}")

    def _at_row(self) -> str:
        return f"\x1b[{self._size.lines};1H"

    def _terminal_size(self) -> os.terminal_size:
        try:
            columns, lines = os.get_terminal_size(self._fd)
        except OSError:  # the terminal has gone
            return self._size
        return os.terminal_size((columns or 80, max(lines, 2)))

    def _suspend(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-Z: the shell gets the whole screen, and we the row when we are continued."""
        self._leave()
        signal.signal(signal.SIGTSTP, self._shells_handler)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._suspend)
        self._open()
