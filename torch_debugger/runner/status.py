"""What the parent says while the script runs: a status line now and then, a line per new finding."""

from __future__ import annotations

import contextlib
import math
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

from torch_debugger.records import TRIALS, Finding
from torch_debugger.report.result import here
from torch_debugger.report.sentences import on_ranks
from torch_debugger.report.text import one_line, short_paths, shown_path


@dataclass(frozen=True)
class Progress:
    """How far the run is, at one moment."""

    step: int
    loss: float | None  # None: not known, which is not the same as nan
    steps_per_s: float | None
    findings: Sequence[Finding]
    trials: int = 0  # of a pre-flight that are done

    @property
    def text(self) -> str:
        """step 1,240 | loss 0.4312 | 85 steps/s | 1 error, 2 warnings"""
        parts = [f"step {self.step:,}"]
        if self.loss is not None:
            parts.append(f"loss {self.loss:.4g}")
        if self.steps_per_s is not None:
            parts.append(f"{self.steps_per_s:.3g} steps/s")
        return " | ".join([*parts, count_findings(self.findings)])


def count_findings(findings: Sequence[Finding]) -> str:
    counts = [_count(findings, severity) for severity in ("error", "warning")]
    return ", ".join(filter(None, counts)) or "no findings"


def _count(findings: Sequence[Finding], severity: str) -> str:
    number = sum(finding.severity == severity for finding in findings)
    return f"{number} {severity}{'s' if number > 1 else ''}" if number else ""


def announcement(finding: Finding) -> str:
    """error missing-zero-grad at train.py:31 (net.fc1), on rank 2: ..."""
    place, folder = finding.where, here()
    file = shown_path(place.file, folder) if place.file else None
    line = f"{file}:{place.line}" if file and place.line else file
    where = f"{line} ({place.module})" if line and place.module else line or place.module
    spot = f" at {where}" if where else ""
    spot += f"{',' if where else ''} {on_ranks(finding)}" if finding.ranks else ""
    return one_line(f"{finding.severity} {finding.name}{spot}: {short_paths(finding.message, folder)}")


class Display(Protocol):
    def update(self, progress: Progress, now_s: float) -> None: ...
    def announce(self, finding: Finding) -> None: ...
    def close(self) -> None: ...


class PlainStatus:
    """Whole lines on stderr; a status line only when the run has moved since the last one."""

    every_s = 10.0

    def __init__(self, fd: int, now_s: float) -> None:
        self._fd = fd
        self._last_s = now_s
        self._last_step = 0

    def update(self, progress: Progress, now_s: float) -> None:
        if now_s - self._last_s < self.every_s or progress.step == self._last_step:
            return
        self._last_s, self._last_step = now_s, progress.step
        write_line(self._fd, progress.text)

    def announce(self, finding: Finding) -> None:
        write_line(self._fd, announcement(finding))

    def close(self) -> None:
        return


class Silence:
    """--quiet"""

    def update(self, progress: Progress, now_s: float) -> None:
        return

    def announce(self, finding: Finding) -> None:
        return

    def close(self) -> None:
        return


def write_line(fd: int, text: str) -> None:
    """One line of its own, wherever the script has left the cursor."""
    write(fd, f"{fresh_line(fd)}torch-debugger: {text}\n")


def fresh_line(fd: int) -> str:
    """What moves a terminal's cursor to the start of a free line.

    A screen's width of spaces fills the line exactly when the cursor stands at its start (the
    carriage return then stays on it), and runs into the next line when the script has left half a
    line or a progress bar, which stays as it is.
    """
    try:
        return " " * (os.get_terminal_size(fd).columns or 80) + "\r\x1b[K"
    except OSError:
        return ""  # not a terminal


def write(fd: int, text: str) -> None:
    """Straight to the file, past Python's buffers, so that a signal handler may do it too."""
    # The terminal may go away before the run does (ssh lost): the report is still written to its files.
    with contextlib.suppress(OSError):
        os.write(fd, text.encode(errors="backslashreplace"))


# --live: a status row at the bottom of the terminal, below a scroll region that holds everything else.

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


# How far a pre-flight is: a bar on a terminal, a line now and then elsewhere.
_CLEARED = "\r\x1b[K"
_WIDTH = 24  # of the bar, in characters


class TrialLines:
    """Whole lines on stderr, for logs and pipes."""

    every_s = 5.0

    def __init__(self, fd: int, trials: Sequence[str] = TRIALS, word: str = "trial") -> None:
        self._fd = fd
        self._trials = trials
        self._word = word
        self._said_s = 0.0
        self._said = ""

    def update(self, progress: Progress, now_s: float) -> None:
        self._said_s = self._said_s or now_s
        line = _how_far(progress, self._trials, self._word)
        if progress.trials and line != self._said and now_s - self._said_s >= self.every_s:
            self._said_s, self._said = now_s, line
            write_line(self._fd, line)

    def announce(self, finding: Finding) -> None:
        """The trials have the word here; `run` tells what its checks find."""

    def close(self) -> None:
        return


class TrialBar:
    """One row that is drawn again and again, and gone at the end."""

    every_s = 0.2

    def __init__(self, fd: int, trials: Sequence[str] = TRIALS, word: str = "trial") -> None:
        self._fd = fd
        self._trials = trials
        self._word = word
        self._drawn_s = 0.0
        self._open = False

    def update(self, progress: Progress, now_s: float) -> None:
        begun = progress.step or progress.trials  # before that the script may write on its own
        if not begun or now_s - self._drawn_s < self.every_s:
            return
        if not self._open:
            write(self._fd, fresh_line(self._fd))
        self._open, self._drawn_s = True, now_s
        full = round(_WIDTH * progress.trials / len(self._trials))
        row = f"{'━' * full}{'─' * (_WIDTH - full)}  {_how_far(progress, self._trials, self._word)}"
        write(self._fd, f"{_CLEARED}{row[: self._columns() - 1]}")

    def announce(self, finding: Finding) -> None:
        """The trials have the word here; `run` tells what its checks find."""

    def close(self) -> None:
        if self._open:
            write(self._fd, _CLEARED)

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._fd).columns or 80
        except OSError:  # the terminal has gone
            return 80


def _how_far(progress: Progress, trials: Sequence[str], word: str) -> str:
    """trial 6 of 12, overfit one batch: step 37, loss 0.5123"""
    number = min(progress.trials + 1, len(trials))
    text = f"{word} {number} of {len(trials)}, {trials[number - 1]}"
    known = progress.loss is not None and not math.isnan(progress.loss)
    return f"{text}: step {progress.step}, loss {progress.loss:.4g}" if known else text
