"""Memory that CUDA's libraries take beside the tensors of a step: a guess, from what they are known to do.

cuBLAS takes a workspace at its first matrix product and keeps it. cuDNN takes one for each convolution: its
fast kernels want the channels last, and turn tensors that have them first into copies of their own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

_aten = torch.ops.aten
_PRODUCTS = frozenset({
    _aten.mm.default, _aten.addmm.default, _aten.bmm.default, _aten.baddbmm.default, _aten.addbmm.default,
    _aten.mv.default, _aten.addmv.default, _aten.linear.default,
})  # fmt: skip
_FORWARD, _BACKWARD = _aten.convolution.default, _aten.convolution_backward.default

_LSTM = _aten.mkldnn_rnn_layer.default
_LSTM_RESERVE = 6  # times its output: four gates, cell and hidden state of each time step

CUBLAS_BYTES = 8_519_680  # 4096 KiB twice and 16 KiB eight times, torch's default
CUBLAS_HOPPER_BYTES = 32 * 2**20
_CONFIGURED = "CUBLAS_WORKSPACE_CONFIG"  # :KIB:COUNT, once or more often


def cublas_bytes(device: torch.device | None = None) -> int:
    """What torch gives each of its cuBLAS handles on a CUDA device (there is one for each thread)."""
    configured = re.findall(r":(\d+):(\d+)", os.environ.get(_CONFIGURED, ""))
    if configured:
        return sum(int(kib) * 1024 * int(count) for kib, count in configured)
    return CUBLAS_HOPPER_BYTES if torch.cuda.get_device_capability(device)[0] >= 9 else CUBLAS_BYTES


@dataclass
class Workspaces:
    """Of one process."""

    cublas_bytes: int = CUBLAS_BYTES
    _taken: bool = field(default=False, init=False)

    def of(self, function: Any, args: tuple[Any, ...], made: Any) -> Iterator[tuple[int, bool]]:
        """Bytes that this operation takes besides, and whether they stay."""
        if function is _FORWARD:
            yield _turned_bytes(args[0], args[1], made), False
        elif function is _BACKWARD:  # for the input and for the weight, one after the other
            yield max(_turned_bytes(args[0], args[2], made[0]), _turned_bytes(args[0], args[1], made[1])), False
        elif function in _PRODUCTS and not self._taken:
            self._taken = True
            yield self.cublas_bytes, True


def with_reserve(function: Any, made: Any) -> Any:
    """cuDNN's LSTM keeps a reserve for its backward; its twin on the CPU, without data, keeps nothing."""
    if function is not _LSTM or made[-1].numel():
        return made
    return (*made[:-1], torch.empty(_LSTM_RESERVE * made[0].nbytes, dtype=torch.uint8))


def _turned_bytes(*tensors: torch.Tensor | None) -> int:
    """Of those whose channels come first."""
    return sum(each.nbytes for each in tensors if each is not None and each.dim() >= 4 and _is_turned(each))


def _is_turned(tensor: torch.Tensor) -> bool:
    form = torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d
    return tensor.is_contiguous() and not tensor.is_contiguous(memory_format=form)
