"""What the workers of the last loader were asked for and had not delivered; known also when that is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch_debugger.records.workers import SampleSeen


@dataclass(frozen=True)
class AskedBatches:
    pids: tuple[int, ...]  # of worker 0, 1 and so on
    indices: Mapping[int, tuple[int, ...]]  # batch -> its samples
    # worker -> the batch and the sample that it was seen at for longer than at others
    seen: Mapping[int, tuple[int, SampleSeen]] = field(default_factory=dict)

    def worker_of(self, pid: int) -> int | None:
        return self.pids.index(pid) if pid in self.pids else None

    def of_worker(self, worker: int) -> dict[int, tuple[int, ...]]:
        """Batches are asked for in turn, of worker 0 the first."""
        turn = len(self.pids)
        return {batch: found for batch, found in sorted(self.indices.items()) if batch % turn == worker}
