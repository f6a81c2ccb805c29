"""A model on one device and its input on another: said, and nothing is moved."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from torch_debugger.errors import UsageError


def refuse_another_device(model: nn.Module, tensors: Iterable[torch.Tensor]) -> None:
    parameter = next(model.parameters(), None)
    if parameter is None:
        return
    if parameter.device.type == "meta":
        raise UsageError("the model is on meta, where weights have no values: load it onto a device first.")
    for tensor in tensors:
        if tensor.device != parameter.device:
            raise UsageError(
                f"the model is on {parameter.device}, but the input on {tensor.device}:"
                f' move it with .to("{parameter.device}").'
            )
