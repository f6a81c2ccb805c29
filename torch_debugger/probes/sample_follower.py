"""The sample that a process makes just now, followed by another thread of its: which, where and how long."""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass, field
from typing import Any

from torch_debugger.anatomy.fetching import Fetching, Line, fetching_now, file_named_in

PERIOD_S = 0.05  # between two looks
SLOW_S = 0.15  # at one sample: from here on it is told
_HELD_UP = 3.0  # periods between two looks: a call has kept Python's lock to itself
_MOST_LINES = 200
_LINES_TOLD = 3


@dataclass
class _Sample:
    """The sample that is being made."""

    task: int
    position: int
    index: int | None
    dataset: str
    since: float
    seconds: float = 0.0
    lines: dict[Line, int] = field(default_factory=dict)
    file: tuple[str, int] = ("", 0)
    file_asked: bool = False

    def told(self) -> dict[str, Any]:
        line = max(self.lines, key=lambda each: self.lines[each], default=None)
        return {
            "task": self.task,
            "index": self.index,
            "dataset": self.dataset,
            "seconds": self.seconds,
            "at": self.since + self.seconds,
            "line": line,
            "file": self.file,
        }


class SampleFollower:
    def __init__(self) -> None:
        self._lines: dict[Line, int] = {}
        self._sample: _Sample | None = None
        self._slowest: _Sample | None = None
        self._same_batch = False  # as that of the slowest: nothing else was made since
        self._last = 0.0

    @property
    def slowest(self) -> dict[str, Any] | None:
        """Of the last batch that had a slow sample."""
        return self._slowest.told() if self._slowest is not None else None

    def told(self) -> dict[str, Any]:
        most = sorted(self._lines.items(), key=lambda item: -item[1])[:_LINES_TOLD]
        return {"lines": most, "looks": sum(self._lines.values()), "slow": self.slowest}

    def rest(self, now: float) -> None:
        """Nothing is being made."""
        self._sample, self._same_batch, self._last = None, False, now

    def look(self, thread: int, now: float, earliest: float = 0.0) -> bool:
        """Whether a slow sample is under way, which was not begun before `earliest`. Without a collection of
        garbage meanwhile, which would free what is the user's in this thread."""
        self._last = max(self._last, earliest)
        collects = gc.isenabled()
        gc.disable()
        try:
            seen = fetching_now(sys._current_frames().get(thread))
            if seen is None:
                self._sample, self._same_batch = None, False
            return seen is not None and self._follow(seen, now)
        finally:
            self._last = now
            if collects:
                gc.enable()

    def _follow(self, seen: Fetching, now: float) -> bool:
        since_s = now - self._last if self._last else PERIOD_S
        if seen.line is not None and (seen.line in self._lines or len(self._lines) < _MOST_LINES):
            self._lines[seen.line] = self._lines.get(seen.line, 0) + max(1, round(since_s / PERIOD_S))
        sample = self._sample
        if sample is None or (sample.task, sample.position) != (seen.task, seen.position):
            # It began between the last look and this one: right after it, where this thread was held up.
            began = self._last if since_s > _HELD_UP * PERIOD_S else now - PERIOD_S
            sample = _Sample(seen.task, seen.position, seen.index, seen.dataset, began + PERIOD_S / 2)
            self._sample = sample
        sample.seconds = now - sample.since
        if seen.line is not None:
            sample.lines[seen.line] = sample.lines.get(seen.line, 0) + 1
        return sample.seconds >= SLOW_S and self._note_slow(sample, seen)

    def _note_slow(self, sample: _Sample, seen: Fetching) -> bool:
        """Of one batch, the sample that takes longest; what a batch before took is of no interest any more."""
        if not sample.file_asked:
            sample.file_asked = True
            sample.file = file_named_in(seen.frames)
        before = self._slowest
        same = self._same_batch and before is not None and before.task == sample.task
        if before is None or not same or before.seconds <= sample.seconds:
            self._slowest, self._same_batch = sample, True
        return self._slowest is sample
