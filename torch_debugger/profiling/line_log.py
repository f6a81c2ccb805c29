"""Which line of the user's code runs when: every line, for the few steps that are profiled.

torch's profiler knows functions but not the lines that run in them. Here Python's own tracing writes down the
time at which the training passes from one line of the user's to the next; libraries are not traced, so what
they do belongs to the line that called them.
"""

from __future__ import annotations

import sys
import threading
from bisect import bisect_right
from types import FrameType
from typing import Any

from torch_debugger.anatomy.frames import frames
from torch_debugger.anatomy.sources import is_user_file, place_at
from torch_debugger.clocks import time
from torch_debugger.records import Place

Line = tuple[str, int]  # file and number
_NOWHERE: Line = ("", 0)


class LineLog:
    """Of the thread that starts it. Python has room for one tracer: where a debugger or a coverage tool is at
    work, `possible` says no and nothing is done."""

    def __init__(self) -> None:
        self.times_ns: list[int] = []
        self.lines: list[Line] = []
        self._before: Any = None
        self._changed: list[FrameType] = []

    @staticmethod
    def possible() -> bool:
        return sys.gettrace() is None and threading.gettrace() is None

    def start(self) -> None:
        """The frames that run already are traced too: the training's loop is one of them."""
        for frame in frames(2):
            if is_user_file(frame.f_code.co_filename) and frame.f_trace is None:
                frame.f_trace = self._in_frame
                self._changed.append(frame)
        self._note(self._changed[0] if self._changed else None)
        sys.settrace(self._on_call)

    def stop(self) -> None:
        sys.settrace(None)
        for frame in self._changed:
            frame.f_trace = None
        self._changed = []
        self.times_ns.append(time.time_ns())
        self.lines.append(_NOWHERE)

    @property
    def wall_s(self) -> float:
        return (self.times_ns[-1] - self.times_ns[0]) / 1e9

    def at(self, moment_ns: int) -> Line:
        """The line that ran at this time."""
        place = bisect_right(self.times_ns, moment_ns) - 1
        return self.lines[place] if place >= 0 else _NOWHERE

    def place(self, line: Line) -> Place:
        return place_at(*line) if line[0] else Place()

    def totals(self) -> dict[Line, tuple[float, int]]:
        """Seconds in each line, and how often it was come to."""
        found: dict[Line, tuple[float, int]] = {}
        ends = [*self.times_ns[1:], self.times_ns[-1]] if self.times_ns else []
        before = _NOWHERE
        for began, ended, line in zip(self.times_ns, ends, self.lines, strict=True):
            seconds, passes = found.get(line, (0.0, 0))
            found[line] = seconds + (ended - began) / 1e9, passes + (line != before)
            before = line
        found.pop(_NOWHERE, None)
        return found

    def between(self, began_ns: int, ended_ns: int) -> LineLog:
        """The part of it that lies there."""
        part = type(self)()
        inside = [place for place, moment in enumerate(self.times_ns) if began_ns < moment < ended_ns]
        part.times_ns = [began_ns, *(self.times_ns[place] for place in inside), ended_ns]
        part.lines = [self.at(began_ns), *(self.lines[place] for place in inside), _NOWHERE]
        return part

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._in_frame if is_user_file(frame.f_code.co_filename) else None

    def _in_frame(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._note(frame)
        elif event == "return":  # back in whoever called it
            caller = frame.f_back
            while caller is not None and not is_user_file(caller.f_code.co_filename):
                caller = caller.f_back
            self._note(caller)
        return self._in_frame

    def _note(self, frame: FrameType | None) -> None:
        self.times_ns.append(time.time_ns())
        self.lines.append((frame.f_code.co_filename, frame.f_lineno) if frame is not None else _NOWHERE)
