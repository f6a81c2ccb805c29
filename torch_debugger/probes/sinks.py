"""Those who get the records. One that fails is let go, so that it fails neither probe nor training.

Several watchers share the probes and each get every record; one who joins late is first told
what still holds: the models, the optimizers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_debugger.records import (
    HparamsFact,
    LoaderFact,
    LossSite,
    ModelFact,
    ModelFlow,
    OptimizerFact,
    Record,
    RunFact,
    SchedulerFact,
    SeedFact,
)
from torch_debugger.records.sinks import Keeper, Sink
from torch_debugger.system.program import say
from torch_debugger.system.signals import is_the_scripts

_STANDING = frozenset(
    {RunFact, ModelFact, ModelFlow, OptimizerFact, SchedulerFact, LossSite, LoaderFact, HparamsFact, SeedFact}
)


class Sinks:
    def __init__(self) -> None:
        self._sinks: list[Sink] = []
        self.standing: list[Record] = []
        self._threads: list[Any] = []  # sinks with a thread of their own; its CPU time is our cost

    def remember(self, record: Record) -> None:
        """A standing fact that is told to watchers who join later."""
        self.standing.append(record)

    def join(self, sink: Sink, told: Record | None = None) -> None:
        """`told` is what the sink knows already."""
        for record in self.standing:
            known = record is told or (isinstance(record, RunFact) and told is not None)
            if not known and not hand(record, sink):
                return
        self._sinks = [*self._sinks, sink]
        if hasattr(sink, "cpu_s"):
            self._threads.append(sink)

    def leave(self, sink: Sink) -> None:
        self._sinks = [other for other in self._sinks if other is not sink]

    @property
    def keeps(self) -> bool:
        """Whether one of them keeps records; all do that do not say otherwise."""
        return any(getattr(sink, "keeps", True) for sink in self._sinks)

    def forget(self) -> None:
        self._sinks = []

    def emit(self, record: Record) -> None:
        if type(record) in _STANDING:
            self.standing.append(record)
        for sink in self._sinks:
            if not hand(record, sink):
                self.leave(sink)

    def flush(self) -> None:
        """All that was told is kept when this returns: for what may be followed by the end of the process."""
        for sink in self._sinks:
            if isinstance(sink, Keeper):
                sink.flush()

    def tell(self, sinks: Sequence[Sink], record: Record) -> None:
        """To these of the watchers only."""
        for sink in self._sinks:
            if any(sink is other for other in sinks) and not hand(record, sink):
                self.leave(sink)

    @property
    def cpu_s(self) -> float:
        """Spent by the threads of all sinks so far."""
        return sum(float(sink.cpu_s) for sink in self._threads)


def hand(record: Record, sink: Sink) -> bool:
    """False when the sink failed; stderr is told, and nobody should hand it anything more."""
    try:
        sink.add(record)
    except Exception as error:  # whatever a sink does, the training goes on
        if is_the_scripts(error):
            raise
        name = type(sink).__name__
        say(f"{name} failed ({type(error).__name__}: {error}) and gets no more records; the training goes on.")
        return False
    return True
