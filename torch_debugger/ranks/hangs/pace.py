"""How long a training may stand still: learned from how long it took so far to go on."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.hangs import CALL, EVENT, LOOP, PROCESS, READ

FLOOR_S, CEILING_S = 40.0, 600.0
_MULTIPLE = 3.0  # of the slowest so far
# Before the first sign of life: downloads, caches and compilers may take long, and look like this.
_FIRST_S = 180.0
_SLOW_STARTERS = {CALL, EVENT, LOOP, PROCESS, READ}
# A loop computes, as slow work does: it has to take far longer than any batch before it.
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
        # Of those that took so long that they were looked at. With the first of a pass, its workers start.
        self.slowest_batch_s = {False: 0.0, True: 0.0}
        self.signs = 0  # of life: steps, backward passes, calls of models

    def went_on(self, after_s: float, steps: int = 0) -> None:
        """`steps` are all so far: many may pass between two looks."""
        if self.signs:  # what came before the first one was setting up
            self.slowest_s = max(self.slowest_s, after_s)
        self.signs = max(self.signs + 1, steps)

    def fetched(self, after_s: float, *, is_first: bool) -> None:
        """A batch came."""
        self.slowest_batch_s[is_first] = max(self.slowest_batch_s[is_first], after_s)

    def allowed_s(self, kind: str, *, is_first: bool = False) -> float:
        """For a wait of this kind; of a loop, whether it keeps the first batch of a pass back."""
        limits = self.limits
        if limits.timeout_s:
            return limits.timeout_s
        floor_s = limits.floor_s
        if not self.signs and kind in _SLOW_STARTERS:
            floor_s = max(floor_s, _FIRST_S)
        if kind == LOOP and self.signs < _LEAST_SIGNS:
            floor_s = max(floor_s, limits.ceiling_s)
        batch_s = max(self.slowest_batch_s[False], self.slowest_batch_s[is_first])
        learned_s = _LOOP_MULTIPLE * batch_s if kind == LOOP else _MULTIPLE * self.slowest_s
        return max(min(learned_s, limits.ceiling_s), floor_s)
