"""Batches of a moment ago, kept by reference.

When a CUDA kernel fails an assertion the device can no longer be asked which index was out of range. Its
batch came through the CPU, and the tensors that hold indices are small: the last few are kept.

The last batch is kept for a step that must be run again. As long as its iterator lives, the user's loop holds
the batch too; from then on it is kept only if the script itself does so.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from torch_debugger.probes.watch import Watch

_INTEGERS = (torch.int64, torch.int32)
BATCHES = 4


class RecentBatches:
    def __init__(self) -> None:
        self._kept: deque[Mapping[str, torch.Tensor]] = deque(maxlen=BATCHES)

    def see(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        self._kept.append({name: tensor for name, tensor in tensors if _may_be_indices(tensor)})

    def latest_first(self) -> list[Mapping[str, torch.Tensor]]:
        return list(reversed(self._kept))

    def let_go(self) -> None:
        self._kept.clear()


class LastBatch:
    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._batch: Callable[[], Any] = _nothing
        self._dataset: Any = None
        self._iterator: weakref.ref[Any] | None = None

    def see(self, batch: Any, iterator: Any) -> None:
        if self._iterator is None or self._iterator() is not iterator:
            self._iterator = weakref.ref(
                iterator, lambda gone: self._watch.guard.contain("loaders", self._loosen, gone)
            )
        self._batch, self._dataset = lambda: batch, iterator._dataset

    def get(self) -> tuple[Any, Any]:
        """The batch and its dataset, or None and None."""
        batch = self._batch()
        return (None, None) if batch is None else (batch, self._dataset)

    def let_go(self) -> None:
        self._batch, self._dataset, self._iterator = _nothing, None, None

    def _loosen(self, gone: weakref.ref[Any]) -> None:
        if gone is self._iterator:
            self._iterator = None
            self._batch = _held_loosely(self._batch())


def _nothing() -> None:
    return None


def _held_loosely(value: Any) -> Callable[[], Any]:
    """Gives `value` as long as somebody else holds what is in it, then None."""
    if type(value) is dict:
        keys, items = tuple(value), _held_loosely(tuple(value.values()))
        return lambda: None if (alive := items()) is None else dict(zip(keys, alive, strict=True))
    if type(value) in (list, tuple):
        kind, parts = type(value), [_held_loosely(part) for part in value]

        def whole() -> Any:
            alive = [part() for part in parts]
            return None if any(part is None for part in alive) else kind(alive)

        return whole
    try:
        return weakref.ref(value)
    except TypeError:  # a number or a text
        return lambda: value


def _may_be_indices(tensor: torch.Tensor) -> bool:
    return tensor.dtype in _INTEGERS and tensor.device.type == "cpu"
