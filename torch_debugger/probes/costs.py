"""What watching costs, counted about once a second, and told ever more rarely."""

from __future__ import annotations

from torch_debugger.clocks import time
from torch_debugger.probes.sampling import Governor
from torch_debugger.probes.sinks import Sinks
from torch_debugger.probes.spacing import Spacing


class Costs:
    EVERY_S, TIMES = 1.0, 1000

    def __init__(self, governor: Governor, sinks: Sinks) -> None:
        self.tracing_s = 0.0  # spent on steps that were run again
        self._governor = governor
        self._sinks = sinks
        self._charged_at = 0.0
        self._charged_s = 0.0  # of what the sinks have used
        self._spacing = Spacing(self.EVERY_S, self.TIMES)

    def charge(self, step: int) -> None:
        """What the sinks' threads have used meanwhile."""
        now = time.monotonic()
        if now - self._charged_at > self.EVERY_S:
            before_s, self._charged_s = self._charged_s, self._sinks.cpu_s
            self._governor.charge_base(self._charged_s - before_s)
            self._charged_at = now
            if self._spacing.is_time(now):
                self.tell(step)

    def tell(self, step: int) -> None:
        self._spacing.done(time.monotonic())
        self._sinks.emit(self._governor.account(step, self.tracing_s))
