"""What the parent says while the script runs: a status line now and then, a line per new finding."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch_debugger.records import Finding
from torch_debugger.report.digest import here
from torch_debugger.report.printable import one_line
from torch_debugger.report.sentences import on_ranks
from torch_debugger.report.source import short_paths, shown_path


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
