"""Batches that the training waits for far longer than for others."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import place_at
from torch_debugger.probes.watch import Watch
from torch_debugger.probes.worker_board import WorkerBoard
from torch_debugger.records import Place, StalledBatch
from torch_debugger.records.workers import SampleSeen


class Batch(NamedTuple):
    loader: int  # LoaderFact.number
    number: int
    iteration: int
    worker: int
    elapsed_s: float


class Stalls:
    LEAST_S = 0.25
    TIMES = 8.0  # as long as making a batch takes
    KNOWN = 8  # batches, before one is called unusual
    TOLD = 60
    INDICES = 64

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._told = 0

    def is_one(self, waited_s: float, took: Sequence[float]) -> bool:
        """`took` are the times that making other batches took."""
        usual = len(took) < self.KNOWN or waited_s < self.LEAST_S or self._told >= self.TOLD
        return not usual and waited_s >= self.TIMES * statistics.median(took)

    def tell(
        self, batch: Batch, waited_s: float, took: Sequence[float], indices: Any, sample: SampleSeen | None
    ) -> None:
        self._told += 1
        self.watch.emit(
            StalledBatch(
                loader=batch.loader,
                step=self.watch.step,
                number=batch.number,
                iteration=batch.iteration,
                worker=batch.worker,
                waited_s=waited_s,
                typical_s=statistics.median(took),
                elapsed_s=batch.elapsed_s,
                indices=whole_indices(indices)[: self.INDICES],
                sample=sample,
            )
        )


def sample_seen(slow: dict[str, Any]) -> SampleSeen:
    """As a follower of samples tells it."""
    file, line, function = slow["line"] or ("", 0, "")
    place = place_at(file, line) if file else Place()
    named, size = slow["file"]
    return SampleSeen(slow["index"], slow["dataset"], slow["seconds"], place, function, named, size)


def samples_on(board: WorkerBoard) -> dict[int, tuple[int, SampleSeen]]:
    """By worker: the last batch of its that had a slow sample, and that sample."""
    told = {worker: board.read(worker) for worker in range(board.workers)}
    slow = {worker: each.get("slow") for worker, each in told.items() if each is not None}
    return {worker: (each["task"], sample_seen(each)) for worker, each in slow.items() if each}


def whole_indices(indices: Any) -> tuple[int, ...]:
    listed = indices if is_a(indices, (list, tuple)) else [indices]
    return tuple(listed) if all(type(index) is int for index in listed) else ()
