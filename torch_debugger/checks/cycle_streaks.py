"""An optimizer's steps in a row, as far as they were looked at, in which the same was wrong."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records import Place, StepCycle


@dataclass
class Streak:
    first_step: int
    length: int
    last: StepCycle


class Streaks:
    def __init__(self) -> None:
        self._running: dict[str, Streak] = {}

    def count(self, cycle: StepCycle, wrong: bool) -> int:
        """How many steps in a row are wrong by now; the first good one ends the count."""
        if not wrong:
            self._running.pop(cycle.optimizer, None)
            return 0
        before = self._running.get(cycle.optimizer) or Streak(cycle.step, 0, cycle)
        self._running[cycle.optimizer] = Streak(before.first_step, before.length + 1, cycle)
        return before.length + 1

    def of(self, optimizer: str) -> Streak:
        return self._running[optimizer]

    def longer_than(self, length: int) -> list[Streak]:
        return [streak for streak in self._running.values() if streak.length > length]


def line_of(place: Place) -> str:
    """at train.py:31, or nothing where the line is not known."""
    return f" at {place.file}:{place.line}" if place.file else ""


def call_at(place: Place, otherwise: str) -> str:
    """The statement itself, in backquotes, with its line."""
    return f"`{place.code or otherwise}`{line_of(place)}"


def parentheses(place: Place) -> str:
    return f"`{place.code}`{line_of(place)} names the method without calling it: its parentheses are missing."
