"""Seconds of a model's own: the watch stands still while we write down what we saw."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import torch

from torch_debugger.clocks import time


class Stopwatch:
    def __init__(self, device: torch.device | None) -> None:
        waits = device is not None and device.type not in ("cpu", "meta")
        self._clock: Callable[[], float] = _when_finished if waits else time.perf_counter
        self._lost_s = 0.0
        self._stopped_at: float | None = None

    def __call__(self) -> float:
        now = self._clock() if self._stopped_at is None else self._stopped_at
        return now - self._lost_s

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        self._stopped_at = self._clock()
        try:
            yield
        finally:
            self._lost_s += self._clock() - self._stopped_at
            self._stopped_at = None


def _when_finished() -> float:
    """An accelerator works on after a call has returned."""
    torch.accelerator.synchronize()
    return time.perf_counter()
