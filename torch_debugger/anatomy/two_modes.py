"""Modules that do one thing in training and another in evaluation: dropout and batch norm."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd


@dataclass(frozen=True)
class TwoModes:
    dropouts: int
    norms: int

    def __bool__(self) -> bool:
        return bool(self.dropouts or self.norms)


def two_modes(module: nn.Module) -> TwoModes:
    parts = list(module.modules())
    return TwoModes(sum(map(_drops, parts)), sum(map(keeps_statistics, parts)))


def _drops(part: nn.Module) -> bool:
    if isinstance(part, _DropoutNd):
        return part.p > 0
    return isinstance(part, (nn.RNNBase, nn.MultiheadAttention)) and part.dropout > 0


def keeps_statistics(part: nn.Module) -> bool:
    return isinstance(part, _BatchNorm) and part.running_mean is not None


def is_untouched(module: nn.Module) -> bool:
    """Whether its batch norms are as they were made; a count on a device is not asked for."""
    counts = [part.num_batches_tracked for part in module.modules() if keeps_statistics(part)]
    return all(count is not None and count.device.type == "cpu" and int(count) == 0 for count in counts)
