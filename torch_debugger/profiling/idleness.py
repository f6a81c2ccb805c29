"""How long the device has nothing to do once the host has waited for it."""

from __future__ import annotations

from bisect import bisect_right

from torch_debugger.profiling.timeline import Timeline


class IdleAfter:
    def __init__(self, timeline: Timeline) -> None:
        self._stretches = timeline.stretches()
        self._begun = [began for began, _ in self._stretches]

    def at_ns(self, moment_ns: int) -> int:
        """Of the gap around this moment; 0 while the device works, and when nothing follows."""
        next_place = bisect_right(self._begun, moment_ns)
        if next_place in (0, len(self._stretches)):
            return 0
        ended_ns = self._stretches[next_place - 1][1]
        return max(0, self._begun[next_place] - ended_ns) if ended_ns <= moment_ns else 0
