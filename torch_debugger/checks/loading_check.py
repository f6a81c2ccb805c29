"""What checks of the wait for data have in common: the loader that is waited for, once enough is known."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import ClassVar

from torch_debugger.checks.base import Check
from torch_debugger.checks.loading import Loading, waited_for
from torch_debugger.checks.state import RunState
from torch_debugger.checks.traced_loading import TracedLoading
from torch_debugger.records import Finding, LoadingTime, Record, TracedTraining


class LoadingCheck(Check):
    reads = (LoadingTime, TracedTraining)

    # Of the time. Below, a wait is a small part of a step.
    least_share: ClassVar[float] = 0.25
    # For one batch. Taking it from a worker costs a millisecond too.
    least_wait_s: ClassVar[float] = 0.005
    # Of training before anything is said while it runs: files that are read for the first time come slowly, and
    # some datasets keep what they made. Shorter runs are judged when they are over.
    settled_s: ClassVar[float] = 20.0

    @abc.abstractmethod
    def judge(self, loading: Loading, state: RunState) -> Iterable[Finding]:
        """The training waits for this loader that much; whose fault is it?"""

    def judge_traced(self, loading: TracedLoading) -> Iterable[Finding]:
        """The same, where a trace of the profiler is all that is known."""
        return ()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, TracedTraining):
            loading = TracedLoading(record)
            if loading.share >= self.least_share and loading.wait_s >= self.least_wait_s:
                yield from self.judge_traced(loading)
            return
        assert isinstance(record, LoadingTime)
        if record.elapsed_s >= self.settled_s:
            yield from self.finish(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        loading = waited_for(state, self.least_share, self.least_wait_s)
        if loading is not None:
            yield from self.judge(loading, state)
