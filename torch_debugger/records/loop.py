"""Facts of how a training loop is written: passes over the data, schedules, modes, clips."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class SchedulerLook:
    """A scheduler as it was when its optimizer was about to step (deep steps, and once at the end)."""

    step: int
    number: int  # SchedulerFact.number
    name: str  # the user's variable; empty where it is not known
    optimizer: str
    count: int  # calls of its step() so far
    updates: int  # and of the optimizer's
    rate: float  # of the first group
    calls: tuple[Place, ...]  # lines that call its step(), as the source has them
    update: Place  # the call of optimizer.step()
    others_called: bool = False  # the source calls step() of something that is no optimizer
    last: bool = False  # the script is over
