"""Which lines the training's Python is at: sampled while it trains, told ever more rarely."""

from __future__ import annotations

import threading

from torch_debugger.probes.guard import Guard
from torch_debugger.probes.row_passes import RowPassLooks
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.profiling.stack_sampler import StackSampler
from torch_debugger.records import SampledStacks

_FIRST_TOLD = 50  # samples


class StackSamples:
    """From the end of the first steps on: they load, compile and are looked at closely."""

    AFTER_STEP = 3

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._sampler: StackSampler | None = None
        self._charged_s = 0.0
        self._tell_at = _FIRST_TOLD
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
