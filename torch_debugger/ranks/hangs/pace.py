"""How long a training may stand still: learned from how long it took so far to go on."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.hangs import CALL, EVENT, LOOP, PROCESS, READ

FLOOR_S, CEILING_S = 40.0, 600.0
_MULTIPLE = 3.0  # of the slowest so far
# Before the first sign of life: downloads, caches and compilers may take long, and look like this.
_FIRST_S = 180.0
_SLOW_STARTERS = {CALL, EVENT, LOOP, PROCESS, READ}
# A loop computes, as slow work does: it has to be far slower than all before it.
_LOOP_MULTIPLE = 10.0
_LEAST_SIGNS = 3  # after which a loop can be told from a slow start


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds. With a `timeout_s` nothing is learned: it alone holds."""

    timeout_s: float = 0.0
    floor_s: float = FLOOR_S
    ceiling_s: float = CEILING_S


class Pace:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.slowest_s = 0.0
        self.signs = 0  # of life: steps, backward passes, calls of models

    def went_on(self, after_s: float) -> None:
        if self.signs:  # what came before the first one was setting up
            self.slowest_s = max(self.slowest_s, after_s)
        self.signs += 1

    def allowed_s(self, kind: str) -> float:
        """For a wait of this kind."""
        limits = self.limits
        if limits.timeout_s:
            return limits.timeout_s
        floor_s = limits.floor_s
        if not self.signs and kind in _SLOW_STARTERS:
            floor_s = max(floor_s, _FIRST_S)
        if kind == LOOP and self.signs < _LEAST_SIGNS:
            floor_s = max(floor_s, limits.ceiling_s)
        multiple = _LOOP_MULTIPLE if kind == LOOP else _MULTIPLE
        return max(min(multiple * self.slowest_s, limits.ceiling_s), floor_s)
