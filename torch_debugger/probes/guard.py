"""Every probe runs through here: timed, unseen by the user's modes, and taken off when it fails.

No exception of ours reaches the training. A probe that raises is removed for the rest of the
run, and a ProbeFault says so once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from torch_debugger.signals import came_by_signal
from torch_debugger.stats.shards import is_of_parts
from torch_debugger.stats.unseen import unseen

CALL_S = 4e-7  # what a guarded call costs beyond the time it measures itself (measured: 0.3-0.5 us)


class Guard:
    def __init__(self, on_fault: Callable[[str, BaseException], None]) -> None:
        self.removed: set[str] = set()
        self.spent_s = 0.0  # since the step began
        self._on_fault = on_fault
        self._running = False  # a probe inside a probe is timed once

    def call(self, probe: str, function: Callable[..., Any], *arguments: Any) -> Any:
        if probe in self.removed:
            return None
        if self._running:
            return self.contain(probe, function, *arguments)
        self._running = True
        start = time.perf_counter()
        try:
            return unseen(function, *arguments)
        except Exception as error:  # the promise: a failing probe never reaches the user's training
            if came_by_signal(error):
                raise
            if not is_of_parts(error):  # of a model that lies in parts on several ranks: one look is left out
                self.remove(probe, error)
            return None
        finally:
            self._running = False
            self.spent_s += time.perf_counter() - start + CALL_S

    def contain(self, probe: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Untimed, and also for a probe that has failed: what it put on must still come off."""
        try:
            return function(*arguments)
        except Exception as error:  # as above
            if came_by_signal(error):
                raise
            if not is_of_parts(error):  # of a model that lies in parts on several ranks: one look is left out
                self.remove(probe, error)
            return None

    def remove(self, probe: str, error: BaseException) -> None:
        if probe not in self.removed:
            self.removed.add(probe)
            self._on_fault(probe, error)

    def take_spent(self) -> float:
        spent, self.spent_s = self.spent_s, 0.0
        return spent


def is_of_a_dead_device(error: BaseException) -> bool:
    """A kernel of the user's has failed: whoever asks the device next, here a probe, hears of it."""
    return isinstance(error, RuntimeError) and "CUDA error" in str(error)
