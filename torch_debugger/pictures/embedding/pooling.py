"""One row of features for each example of what a layer gave: the mean over places or time."""

from __future__ import annotations

import torch
from torch import nn

from torch_debugger.errors import UsageError
from torch_debugger.pictures.units.channel_axes import LastKnown


def pooled(
    output: torch.Tensor,
    count: int,
    module: nn.Module,
    known: LastKnown,
    attended: torch.Tensor | None,
) -> tuple[torch.Tensor, str]:
    """[count, features] in float32, and how it was made."""
    tensor = _batch_in_front(output.detach(), count, module).float()
    if tensor.dim() <= 2:
        return tensor.reshape(count, -1), ""
    places_behind = known.channel_axis(tensor) == 1
    rows = tensor.flatten(2).transpose(1, 2) if places_behind else tensor.flatten(1, -2)
    if attended is not None and attended.shape == rows.shape[:2]:
        kept = attended.to(rows).unsqueeze(2)
        return (rows * kept).sum(1) / kept.sum(1).clamp(min=1), "mean over the tokens of the attention mask"
    return rows.mean(dim=1), f"mean over {rows.shape[1]} {'places' if places_behind else 'tokens'}"


def _batch_in_front(tensor: torch.Tensor, count: int, module: nn.Module) -> torch.Tensor:
    sizes = tuple(tensor.shape) or (0,)
    time_first = getattr(module, "batch_first", True) is False and tensor.dim() == 3
    if tensor.dim() > 1 and sizes[1] == count and (time_first or sizes[0] != count):
        return tensor.transpose(0, 1)
    if sizes[0] == count:
        return tensor
    if sizes[0] and sizes[0] % count == 0:  # windows or words of all examples in one row
        return tensor.reshape(count, -1, *sizes[1:])
    raise UsageError(
        f"the layer gave {list(tensor.shape)}, where no dimension counts the {count} examples of the batch."
    )
