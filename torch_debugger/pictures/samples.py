"""What a model is given for a picture: where it lies, how many samples it has, and a single one as a batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd

from torch_debugger.anatomy.nested import first_tensor, tensors_in
from torch_debugger.errors import UsageError
from torch_debugger.pictures.devices import refuse_another_device
from torch_debugger.pictures.runs_of_models import Inputs


def as_batch(model: nn.Module, inputs: Inputs) -> Inputs:
    """Refuses what lies on another device than the model. A single image [channels, height, width] for a model
    that begins with a convolution becomes a batch of one."""
    refuse_another_device(model, tensors_in(dict(inputs) if hasattr(inputs, "keys") else inputs))
    if isinstance(inputs, torch.Tensor) and _is_single(model, inputs):
        return inputs.unsqueeze(0)
    return inputs


def refuse_empty(inputs: Inputs) -> Inputs:
    """Of no samples nothing can be seen."""
    first = first_tensor(dict(inputs) if hasattr(inputs, "keys") else inputs)
    if first is not None and not first.numel():
        raise UsageError(f"expected a sample to look at, but the input is empty: {list(first.shape)}.")
    return inputs


def _is_single(model: nn.Module, tensor: torch.Tensor) -> bool:
    first = next(
        (module for module in model.modules() if isinstance(module, (_ConvNd, nn.Linear, nn.Embedding))), None
    )
    if not isinstance(first, _ConvNd) or first.transposed:
        return False
    return tensor.dim() == first.weight.dim() - 1 and tensor.shape[0] == first.in_channels


def image_size(inputs: Inputs) -> tuple[int, int] | None:
    """Height and width, where the model is given images."""
    tensor = first_tensor(dict(inputs) if hasattr(inputs, "keys") else inputs)
    if tensor is None or tensor.dim() not in (4, 5):
        return None
    last = tensor.shape[-1] in (1, 3) and tensor.shape[1] > 4  # [N, H, W, C]
    return (tensor.shape[-3], tensor.shape[-2]) if last else (tensor.shape[-2], tensor.shape[-1])


def chosen_samples(sample: int | Any, count: int) -> list[int]:
    wanted = [sample] if isinstance(sample, int) else [int(each) for each in sample]
    for each in wanted:
        if not -count <= each < count:
            raise UsageError(f"there is no sample {each}: the layer gave {count}, 0 to {count - 1}.")
    return [each % count for each in wanted]
