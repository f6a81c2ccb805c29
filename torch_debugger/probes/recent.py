"""The integer tensors of the last batches, kept by reference while CUDA is in use.

When a kernel fails an assertion the device can no longer be asked which index was out of range. Its
batch came through the CPU, and the tensors that hold indices are small.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

import torch

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


def _may_be_indices(tensor: torch.Tensor) -> bool:
    return tensor.dtype in _INTEGERS and tensor.device.type == "cpu"
