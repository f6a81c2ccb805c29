"""What is told ever more rarely as a run goes on: of a week there are a few thousand records, not a million."""

from __future__ import annotations

from torch_debugger.clocks import time


class Spacing:
    """At first every `every_s`, then `times` times while the run grows by its own length."""

    def __init__(self, every_s: float, times: int) -> None:
        self._every_s, self._times = every_s, times
        self._began = time.monotonic()
        self._last = -float("inf")

    def is_time(self, now: float) -> bool:
        return now - self._last >= max(self._every_s, (now - self._began) / self._times)

    def done(self, now: float) -> None:
        self._last = now
