"""The digests of all ranks, put side by side: what is equal at the same step, and what is not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from torch_debugger.checks.rank_states import RankStates
from torch_debugger.records import CalledModel, GradientAverage, RankDigest


@dataclass(frozen=True)
class SideBySide:
    """One step of one optimizer, as all ranks have it."""

    digests: Mapping[int, RankDigest]  # by rank

    @property
    def first(self) -> RankDigest:
        return self.digests[min(self.digests)]

    @property
    def step(self) -> int:
        return self.first.step

    @property
    def average(self) -> GradientAverage:
        assert self.first.average is not None  # else it would not be here
        return self.first.average

    @property
    def is_from_the_start(self) -> bool:
        """Before any rank has changed anything."""
        return all(digest.updates == 0 for digest in self.digests.values())

    def calls(self) -> Iterator[tuple[int, CalledModel]]:
        for rank, digest in self.digests.items():
            for call in digest.calls:
                yield rank, call

    def inputs(self) -> dict[int, tuple[int, ...]]:
        """By rank: what its models were given."""
        return {
            rank: tuple(each for call in digest.calls for each in call.inputs)
            for rank, digest in self.digests.items()
        }

    def different_weights(self) -> list[str]:
        """Names of parameters; none where something is not finite, which is another fault's matter."""
        norms = (norm for digest in self.digests.values() for norm in digest.norms)
        if not all(math.isfinite(norm) for norm in norms):
            return []
        return self._different({rank: digest.weights for rank, digest in self.digests.items()})

    def different_gradients(self) -> list[str]:
        return self._different({rank: digest.gradients for rank, digest in self.digests.items()})

    def norms_of(self, name: str) -> dict[int, float]:
        return {rank: digest.norms[digest.names.index(name)] for rank, digest in self.digests.items()}

    def _different(self, sums: Mapping[int, tuple[int, ...]]) -> list[str]:
        alike = {(digest.names, digest.shapes) for digest in self.digests.values()}
        if len(alike) > 1:  # other parameters on other ranks: not the same model
            return []
        columns = zip(self.first.names, *sums.values(), strict=True)
        return [name for name, *column in columns if len(set(column)) > 1]


@dataclass
class DigestsOfRanks:
    """Waits until all ranks have told a step that something should have made equal."""

    WAITING = 64  # steps that some rank has not told yet

    _waiting: dict[tuple[int, int], dict[int, RankDigest]] = field(default_factory=dict)

    def add(self, rank: int, digest: RankDigest, ranks: RankStates) -> SideBySide | None:
        average = digest.average
        if average is None or average.ranks < 2 or average.hooked or average.joins:
            return None  # of ranks that join early, the same number is another step
        told = self._waiting.setdefault((digest.optimizer, digest.step), {})
        told[rank] = digest
        if len(told) < average.ranks or average.ranks != ranks.world_size:
            if len(self._waiting) > self.WAITING:
                self._waiting.pop(next(iter(self._waiting)))
            return None
        del self._waiting[digest.optimizer, digest.step]
        return SideBySide(dict(sorted(told.items())))
