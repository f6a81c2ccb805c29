"""Which steps are profiled closely: a few, once the training runs evenly, because somebody asked for it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.settings import PROFILED_FROM

if TYPE_CHECKING:
    from torch_debugger.profiling.window import Window

_TRACE = "trace.json.gz"
_LARGEST_TRACE_BYTES = 100_000_000


class Profiles:
    """Hears of steps. While a window is open no step is looked at closely: the look would be in the profile."""

    def __init__(self, watch: Watch, roots: Roots, steps: int, folder: str | None) -> None:
        self.watch = watch
        self.roots = roots
        self._wanted = steps
        self._folder = folder
        self._window: Window | None = None
        self._first = 0
        self._before_s: list[float] = []
        if steps:
            watch.between_steps.append(self._step_done)

    def finish(self) -> None:
        """The training has ended inside of a window: what there is of it is told."""
        if self._window is not None:
            self.watch.guard.contain("profile", self._close, self.watch.clock.step)

    def _step_done(self, step: int, scalars: dict[str, float]) -> None:
        began = time.perf_counter()
        self._follow(step, scalars)
        # Asked for, and told by itself: taken from what the guard around us will add to the next step.
        self.watch.guard.spent_s -= time.perf_counter() - began

    def _follow(self, step: int, scalars: dict[str, float]) -> None:
        if self._window is not None and step >= self._first + self._wanted - 1:
            self._close(step)
        elif self._window is None and self._wanted and step >= PROFILED_FROM:
            self._open(step + 1)
        elif self._wanted:
            self._before_s.append(scalars["time/step_s"])

    def _open(self, step: int) -> None:
        from torch_debugger.profiling.window import Window, paths_of

        self._first = step
        self.watch.governor.rests = True
        self._window = Window(paths_of(self.roots.alive()), self.roots.any_lags)
        if not self._window.has_lines:
            self.watch.notice(
                "Times of single lines are not told: another tool traces this process (a debugger, coverage)."
            )
        self._window.start()

    def _close(self, step: int) -> None:
        window, self._window = self._window, None
        assert window is not None
        done = step - self._first + 1
        self._wanted = 0
        self.watch.governor.rests = False
        if done > 0:
            self.watch.emit(window.stop(self._first, done, _typical(self._before_s)))
            self._write_trace(window)
        self._before_s = []

    def _write_trace(self, window: Window) -> None:
        if self._folder is None:
            return
        path = os.path.join(self._folder, _TRACE)
        window.write_trace(path)
        if os.path.getsize(path) > _LARGEST_TRACE_BYTES:
            kept = window.write_small_trace(path)
            self.watch.notice(
                f"The trace of the profile was larger than {_LARGEST_TRACE_BYTES // 10**6} MB. Kept are its "
                f"longest events, {kept}; profile fewer steps to have all of them."
            )


def _typical(times_s: Sequence[float]) -> float:
    """The quickest of the later half: the first steps are slow, and others are looked at closely."""
    return min(times_s[len(times_s) // 2 :], default=0.0)
