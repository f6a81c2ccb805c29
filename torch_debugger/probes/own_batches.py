"""Batches that the training process makes itself: how long each takes, and at which sample it stays."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

from torch_debugger.clocks import time
from torch_debugger.probes.loaders import Loaders
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.stalls import Batch, Stalls, sample_seen
from torch_debugger.probes.training_attendant import TrainingAttendant
from torch_debugger.probes.watch import Watch
from torch_debugger.stats.weak_keys import WeakKeysById
from torch_debugger.tracebacks import hidden_in_tracebacks

_KEPT = 200  # times of a loader


@dataclass
class _Loader:
    number: int
    passes: int = 0
    elapsed_s: float = 0.0
    last: float = 0.0
    took: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT))


class OwnBatches(Probe):
    name = "own batches"

    def __init__(self, watch: Watch, loaders: Loaders, stalls: Stalls) -> None:
        super().__init__(watch)
        self._deliveries = loaders.deliveries
        self._stalls = stalls
        self._of_number: dict[int, _Loader] = {}
        self._of_iterator: MutableMapping[Any, _Loader] = WeakKeysById()
        self._attendant: TrainingAttendant | None = None
        loaders.on_pass_begin.append(functools.partial(watch.probe, self.name, self._begin_pass))

    def install(self, patches: Patches) -> None:
        patches.replace(_SingleProcessDataLoaderIter, "_next_data", self._around_next_data)

    def remove(self) -> None:
        attendant, self._attendant = self._attendant, None
        if attendant is not None:
            attendant.stop()

    give_up = remove

    def _around_next_data(self, original: Any) -> Any:
        @functools.wraps(original)
        def _next_data(iterator: Any) -> Any:
            start = self.watch.probe(self.name, self._begin, iterator)
            if start is None:
                with hidden_in_tracebacks:
                    return original(iterator)
            try:
                with hidden_in_tracebacks:
                    batch = original(iterator)
            finally:
                attendant = self._attendant
                if attendant is not None:
                    attendant.end()
            self.watch.probe(self.name, self._made, iterator, start)
            return batch

        return _next_data

    def _begin_pass(self, loader: Any, iterator: Any, state: torch.Tensor) -> None:
        number = self._deliveries.number_of(loader)
        if number <= Loaders.LIMIT and isinstance(iterator, _SingleProcessDataLoaderIter):
            known = self._of_number.setdefault(number, _Loader(number))
            known.passes += 1
            known.last = time.monotonic()
            self._of_iterator[iterator] = known

    def _begin(self, iterator: Any) -> float | None:
        known = self._of_iterator.get(iterator)
        if known is None:
            return None
        if self._attendant is None and len(known.took) >= Stalls.KNOWN:
            self._attendant = TrainingAttendant()
            self._attendant.start()
        if self._attendant is not None:
            self._attendant.begin()
        return time.monotonic()

    def _made(self, iterator: Any, start: float) -> None:
        known = self._of_iterator[iterator]
        now = time.monotonic()
        known.elapsed_s += now - known.last
        known.last = now
        took_s = now - start
        if took_s >= Stalls.LEAST_S and iterator._num_yielded and self._stalls.is_one(took_s, known.took):
            slow = self._attendant.slowest() if self._attendant is not None else None
            seen = slow is not None and slow["at"] >= start and slow["task"] == iterator._num_yielded
            sample = sample_seen(slow) if slow is not None and seen else None
            batch = Batch(known.number, iterator._num_yielded, known.passes, -1, known.elapsed_s)
            self._stalls.tell(batch, took_s, known.took, None, sample)
        known.took.append(took_s)
