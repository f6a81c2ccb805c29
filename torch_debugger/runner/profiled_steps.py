"""Which steps are profiled closely: a few, once the training runs evenly, because somebody asked for it."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch_debugger.probes.model.root_modules import RootModules
from torch_debugger.probes.probe import Guard
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.speed import RowPassLooks
from torch_debugger.probes.watch import Watch
from torch_debugger.profiling.stack_sampling import StackSampler
from torch_debugger.records import SampledStacks
from torch_debugger.settings import PROFILED_FROM, Settings
from torch_debugger.system.clocks import time

if TYPE_CHECKING:
    from torch_debugger.profiling.profiled_steps import Window


_TRACE = "trace.json.gz"
_LARGEST_TRACE_BYTES = 100_000_000
# A window of five steps, measured: 0.5 s on small models, 3 to 7 s on a GPT of 1 s steps; torch's profiler is
# loaded, steps take up to twice as long, and what was recorded is sorted.
_STARTS_S, _SLOWER = 1.0, 1.5
_REMEMBERED = 200  # times of steps before the window


class Profiles:
    """Hears of steps. While a window is open no step is looked at closely: the look would be in the profile."""

    def __init__(self, watch: Watch, roots: RootModules, settings: Settings) -> None:
        self.watch = watch
        self.roots = roots
        self._wanted = settings.profile_steps
        self._requested = bool(self._wanted)  # by the user: whatever it costs
        self._folder = settings.log_dir
        self._window: Window | None = None
        self._first = 0
        self._before_s: deque[float] = deque(maxlen=_REMEMBERED)
        if self._requested:
            watch.between_steps.append(self._step_done)

    def want(self, steps: int) -> None:
        """A finding asks. It gets one window in a run, once that is small beside what has been trained."""
        if self._wanted or self._requested or self._first:
            return
        self._wanted = steps
        self.watch.between_steps.append(self._step_done)

    def finish(self) -> None:
        """The training has ended inside of a window: what there is of it is told."""
        if self._window is not None:
            self.watch.guard.contain("profile", self._close, self.watch.clock.step)

    def _step_done(self, step: int, scalars: dict[str, float]) -> None:
        began = time.perf_counter()
        self._follow(step, scalars)
        if self._requested:
            # Told by itself: taken from what the guard around us will add to the next step.
            self.watch.guard.spent_s -= time.perf_counter() - began

    def _follow(self, step: int, scalars: dict[str, float]) -> None:
        if self._window is not None and step >= self._first + self._wanted - 1:
            self._close(step)
        elif self._window is None and self._wanted and step >= PROFILED_FROM and self._affords():
            self._open(step + 1)
        elif self._wanted:
            self._before_s.append(scalars["time/step_s"])

    def _affords(self) -> bool:
        governor = self.watch.governor
        cost_s = _STARTS_S + _SLOWER * self._wanted * min(self._before_s, default=0.0)
        return self._requested or cost_s <= governor.budget * governor.elapsed_s

    def _open(self, step: int) -> None:
        from torch_debugger.profiling.profiled_steps import Window, paths_of

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
            self.watch.emit(window.stop(self._first, done, _typical(list(self._before_s))))
            self._write_trace(window)
        self._before_s.clear()

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


# Which lines the training's Python is at: sampled while it trains, told ever more rarely.
_FIRST_REPORT = 50  # samples


class StackSamples:
    """From the end of the first steps on: they load, compile and are looked at closely."""

    AFTER_STEP = 3

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._sampler: StackSampler | None = None
        self._charged_s = 0.0
        self._tell_at = _FIRST_REPORT
        self._row_passes = RowPassLooks(watch)
        watch.between_steps.append(self._follow)

    def _follow(self, step: int, scalars: dict[str, float]) -> None:
        self.watch.probe("stacks", self._step_done, step)
        self.watch.probe("row passes", self._row_passes.step_done, step)

    def _step_done(self, step: int) -> None:
        if self._sampler is None:
            if step >= self.AFTER_STEP:
                own_work = {Guard.call.__code__, Guard.contain.__code__}
                self._sampler = StackSampler(threading.get_ident(), self._step_under_way, own_work)
                self._sampler.start()
        elif self._sampler.fault is not None:
            raise self._sampler.fault  # to the guard, who tells it and asks us no more
        elif self._sampler.tree.samples >= self._tell_at:
            self._tell(self._sampler)

    def finish(self) -> None:
        self.watch.guard.contain("row passes", self._row_passes.finish)
        if self._sampler is not None:
            self._sampler.stop()
            self.watch.guard.contain("stacks", self._tell, self._sampler)
            self._sampler = None

    def _step_under_way(self) -> int | None:
        """Steps that are looked at closely tell of the looks."""
        watch = self.watch
        return watch.step if watch.active and watch.depth != DEEP else None

    def _tell(self, sampler: StackSampler) -> None:
        samples = sampler.tree.samples
        self._tell_at = 2 * samples
        self.watch.governor.charge_base(sampler.cpu_s - self._charged_s)
        self._charged_s = sampler.cpu_s
        if samples:
            with sampler.lock:
                nodes = sampler.tree.nodes()
            self.watch.emit(SampledStacks("training", samples, sampler.period_s, self.watch.clock.step, nodes))
            self.watch.probe("row passes", self._row_passes.consider, nodes, samples)
