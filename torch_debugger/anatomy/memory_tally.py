"""Bytes of tensors by what they are for: every storage counts once, for whoever claims it first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import torch

from torch_debugger.anatomy.memory_ids import storages_of

_ROUNDED = 512  # torch's allocator of GPU memory hands it out in these steps


class MemoryTally:
    """Keeps numbers of storages and no tensor; it is of no use after the moment it was made for."""

    def __init__(self) -> None:
        self.by_device: dict[torch.device, Counter[str]] = {}
        self._known: set[int] = set()

    def numbers_of(self, tensor: torch.Tensor) -> set[int]:
        """By which its memory is known again while it lives."""
        return {storage._cdata for storage in storages_of(tensor)}

    def add(self, tensor: torch.Tensor, category: str) -> int:
        """The bytes that were not counted before."""
        size = self.claim(tensor)
        if size:
            self.by_device.setdefault(tensor.device, Counter())[category] += size
        return size

    def add_all(self, tensors: Iterable[torch.Tensor], category: str) -> int:
        return sum([self.add(tensor, category) for tensor in tensors])

    def claim(self, tensor: torch.Tensor) -> int:
        """The same, for somebody who says later what they are for."""
        size = 0
        for storage in storages_of(tensor):
            key = storage._cdata
            if key not in self._known:
                self._known.add(key)
                size += _in_memory(storage.nbytes(), tensor.device.type)
        return size

    def put(self, device: torch.device, category: str, size: int) -> None:
        if size:
            self.by_device.setdefault(device, Counter())[category] += size


def _in_memory(size: int, device: str) -> int:
    if device == "meta":
        return 0
    return size if device == "cpu" else -(-size // _ROUNDED) * _ROUNDED
