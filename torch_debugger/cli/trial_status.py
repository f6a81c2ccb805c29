"""How far a pre-flight is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

from torch_debugger.cli.status import Progress, fresh_line, write, write_line
from torch_debugger.records import TRIALS, Finding

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
        told = _how_far(progress, self._trials, self._word)
        if progress.trials and told != self._said and now_s - self._said_s >= self.every_s:
            self._said_s, self._said = now_s, told
            write_line(self._fd, told)

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
    told = f"{word} {number} of {len(trials)}, {trials[number - 1]}"
    known = progress.loss is not None and not math.isnan(progress.loss)
    return f"{told}: step {progress.step}, loss {progress.loss:.4g}" if known else told
