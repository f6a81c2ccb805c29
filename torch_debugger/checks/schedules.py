"""What is known of one scheduler of the learning rate, and how to name it in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.checks.state import RunState
from torch_debugger.records import Place, SchedulerFact, SchedulerLook


@dataclass
class Schedule:
    """The looks at one scheduler, oldest first."""

    fact: SchedulerFact
    looks: list[SchedulerLook] = field(default_factory=list)

    @property
    def last(self) -> SchedulerLook:
        return self.looks[-1]

    @property
    def name(self) -> str:
        return self.last.name or "scheduler"

    @property
    def per_update(self) -> float:
        """Steps of the scheduler for one of the optimizer."""
        return self.last.count / max(1, self.last.updates)

    @property
    def call(self) -> Place:
        """The line that steps it, if there is one such line."""
        return self.last.calls[0] if len(self.last.calls) == 1 else Place()

    @property
    def total(self) -> float | None:
        """The number of steps after which it is at its end, for the kinds that have one."""
        keys = ("total_steps", "T_max", "total_iters")
        return next((self.fact.settings[key] for key in keys if key in self.fact.settings), None)


class Schedules:
    """All schedulers of a run, by number."""

    def __init__(self) -> None:
        self.known: dict[int, Schedule] = {}

    def see(self, look: SchedulerLook, state: RunState) -> Schedule | None:
        if look.number not in self.known:
            facts = [fact for fact in state.schedulers if fact.number == look.number]
            if not facts:
                return None
            self.known[look.number] = Schedule(facts[-1])
        self.known[look.number].looks.append(look)
        return self.known[look.number]


def at_line(place: Place) -> str:
    """` at train.py:31`, or nothing."""
    return f" at {place.file}:{place.line}" if place.file else ""
