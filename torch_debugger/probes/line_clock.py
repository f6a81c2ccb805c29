"""Times the user's lines while something runs, by a trace function that is on for that long.

Stacks sampled from another thread are not enough here: a call that keeps Python's lock to itself, such as
`np.array(a_list)`, is never seen at work, and its time is found at the next line that lets go of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from torch_debugger.anatomy.sources import is_user_file, place_at
from torch_debugger.clocks import time
from torch_debugger.records import LineCost
from torch_debugger.signals import is_the_scripts

_Line = tuple[CodeType, int]
_TOLD = 24
_Trace = Callable[[FrameType, str, Any], Any]


@dataclass
class Spent:
    seconds: float = 0.0  # in the line and in all that it called
    depth: int = 0  # of lines of the user's around it, when first met


class LineClock:
    ENOUGH_S = 0.005  # that one look costs; a sample that was begun is seen to its end
    TOO_MUCH_S = 0.02

    def __init__(self) -> None:
        self.lines: dict[_Line, Spent] = {}
        self.seconds = 0.0  # looked at, without the looking
        self.own_s = 0.0  # that the looking itself took
        self.looks = 0
        self.fault: Exception | None = None  # of ours: an exception of a trace function would be the user's
        self._stack: list[_Line | None] = []
        self._last = self._began = self._before_s = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        self._stack, self._before_s = [], self.seconds
        self.looks += 1
        self._began = self._last = time.perf_counter()
        sys.settrace(self._called)
        try:
            yield
        finally:
            if sys.gettrace() == self._called:
                self._charge()
                sys.settrace(None)
            self.own_s += self._own_s()

    def _called(self, frame: FrameType, event: str, argument: Any) -> _Trace | None:
        try:
            return self._enter(frame)
        except Exception as error:
            if is_the_scripts(error):
                raise
            self._give_up(error)
            return None

    def _goes_on(self, frame: FrameType, event: str, argument: Any) -> _Trace | None:
        try:
            return self._follow(frame, event)
        except Exception as error:
            if is_the_scripts(error):
                raise
            self._give_up(error)
            return None

    def _give_up(self, error: Exception) -> None:
        sys.settrace(None)
        self.fault = error

    def _enter(self, frame: FrameType) -> _Trace | None:
        if not is_user_file(frame.f_code.co_filename):
            return None  # its time is the line's that called it
        self._charge()
        if self._is_over():
            sys.settrace(None)
            return None
        self._stack.append(None)  # until its first line begins
        self._last = time.perf_counter()
        return self._goes_on

    def _follow(self, frame: FrameType, event: str) -> _Trace | None:
        if event == "exception" or not self._stack:
            return self._goes_on
        self._charge()
        if event == "return":
            self._stack.pop()
        else:
            self._stack[-1] = (frame.f_code, frame.f_lineno)
        if self._is_over():
            sys.settrace(None)
        self._last = time.perf_counter()
        return self._goes_on

    def _is_over(self) -> bool:
        own_s = self._own_s()
        return own_s > self.TOO_MUCH_S or (own_s > self.ENOUGH_S and not self._stack)

    def _own_s(self) -> float:
        """Of this look, what the looking took."""
        return max(0.0, self._last - self._began - (self.seconds - self._before_s))

    def _charge(self) -> None:
        """What has passed since the last event is the time of the lines that are under way."""
        now = time.perf_counter()
        took_s = now - self._last
        self.seconds += took_s
        for depth, line in enumerate(self._stack):
            if line is None or line in self._stack[:depth]:
                continue  # it calls itself
            spent = self.lines.get(line)
            if spent is None:
                spent = self.lines[line] = Spent(depth=depth)
            spent.seconds += took_s
        self._last = now


def costs_of(lines: dict[_Line, Spent]) -> tuple[LineCost, ...]:
    """The dearest, from the outermost inwards."""
    dearest = sorted(lines.items(), key=lambda item: -item[1].seconds)[:_TOLD]
    dearest.sort(key=lambda item: item[1].depth)
    return tuple(
        LineCost(place_at(code.co_filename, line), code.co_name, spent.seconds, spent.depth)
        for (code, line), spent in dearest
    )
