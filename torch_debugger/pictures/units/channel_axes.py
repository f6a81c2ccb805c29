"""Which axis of a layer's output holds its channels, and which one the examples of the batch.

Convolutions keep channels in front, linear layers and transformers behind; what lies between (an activation
function, a block of the user's own) has them where the last layer of a known kind that ran before had them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd

from torch_debugger.anatomy.nested import first_tensor

_IN_FRONT = (_ConvNd, _NormBase, nn.GroupNorm, nn.PixelShuffle)
_BEHIND = (
    nn.Linear, nn.LayerNorm, nn.Embedding, nn.MultiheadAttention, nn.RNNBase, nn.TransformerEncoderLayer,
    nn.TransformerDecoderLayer,
)  # fmt: skip


def has_known_channels(module: nn.Module) -> bool:
    return isinstance(module, (*_IN_FRONT, *_BEHIND))


def channels_behind(module: nn.Module) -> bool:
    return isinstance(module, _BEHIND)


def first_known(model: nn.Module) -> nn.Module | None:
    return next((module for module in model.modules() if has_known_channels(module)), None)


def takes_series(model: nn.Module, given: torch.Tensor) -> bool:
    """[B, T, F], the channels behind time: the kind of the first layer tells it from [B, C, T]."""
    return given.dim() == 3 and (first := first_known(model)) is not None and channels_behind(first)


@dataclass
class LastKnown:
    """Told of every call of such a layer, in order."""

    axis: int = 0  # 0: none yet
    size: int = 0

    def see(self, module: nn.Module, output: Any) -> None:
        tensor = first_tensor(output)
        if tensor is not None and tensor.dim() > 1:
            self.axis = 1 if isinstance(module, _IN_FRONT) else -1
            self.size = tensor.shape[self.axis]

    def channel_axis(self, output: torch.Tensor) -> int:
        """Where the size tells against the kind, it was transposed since: then the size counts."""
        usual = self.axis or (1 if output.dim() > 3 else -1)
        other = -usual  # 1 or -1
        moved = output.shape[usual] != self.size == output.shape[other]
        return (other if moved else usual) % output.dim()


def batch_axis(one: torch.Size, two: torch.Size) -> int:
    """The axis that grows with the batch; 0 where none does."""
    grown = [axis for axis, sizes in enumerate(zip(one, two, strict=False)) if sizes[0] != sizes[1]]
    return grown[0] if grown else 0


@dataclass(frozen=True)
class Layout:
    """How a layer's output lies in memory: for one example [C, positions ...] whatever that is."""

    batch: int
    channel: int

    def by_example(self, output: torch.Tensor, examples: int) -> torch.Tensor:
        """[examples, ...] in the layer's own order."""
        return _split(output.movedim(self.batch, 0), examples)

    def by_channel(self, output: torch.Tensor, examples: int) -> torch.Tensor:
        """[examples, C, positions ...]"""
        if output.dim() == 1:
            return output.reshape(examples, -1)
        batch = self.batch if self.batch < self.channel else self.batch - 1
        return _split(output.movedim(self.channel, -1).movedim(batch, 0), examples).movedim(-1, 1)


def _split(output: torch.Tensor, examples: int) -> torch.Tensor:
    """Windows of an image that were moved into the batch are positions again."""
    if len(output) == examples:
        return output
    return output.reshape(examples, -1, *output.shape[1:])
