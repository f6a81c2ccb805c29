"""What is noted of a pass over a loader with workers while its batches are asked for and come."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch_debugger.probes.worker_board import WorkerBoard

_KEPT = 400  # times of a worker


@dataclass
class WorkerClock:
    batches: int = 0
    waited_s: float = 0.0
    took: deque[tuple[float, bool]] = field(default_factory=lambda: deque(maxlen=_KEPT))  # (seconds, exact)


@dataclass
class LoaderClock:
    number: int
    passes: int = 0
    elapsed_s: float = 0.0  # of passes that are over
    in_order: bool = True
    workers: dict[int, WorkerClock] = field(default_factory=dict)
    at_most: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT))  # from asked for to come

    def times(self, enough: int = 8) -> list[float]:
        """That making a batch took: those that are known exactly, where there are enough of them. Where all
        batches lay ready, making one took less than the time since it was asked for."""
        took = [each for worker in self.workers.values() for each in worker.took]
        exact = [seconds for seconds, is_exact in took if is_exact]
        known = exact if len(exact) >= enough else [seconds for seconds, _ in took]
        return known if len(known) >= enough else list(self.at_most)


@dataclass
class PassClock:
    sent: dict[int, tuple[float, Any]] = field(default_factory=dict)  # task -> when, and its indices
    came: dict[int, tuple[float, bool]] = field(default_factory=dict)  # worker -> its last batch, exact?
    waits: dict[int, float] = field(default_factory=dict)  # task -> how long it has been waited for
    delivered: dict[int, int] = field(default_factory=dict)  # worker -> batches, of all passes of the iterator
    loader: LoaderClock | None = None
    pids: tuple[int, ...] = ()
    board: WorkerBoard | None = None
    began: float = 0.0
    last: float = 0.0


class Arrival(NamedTuple):
    """A batch that came out of the queue."""

    task: int
    worker: int
    sent: float
    indices: Any
    waited_s: float  # at the queue
    now: float
