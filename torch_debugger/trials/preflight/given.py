"""The case of `doctor(model, loss_fn, batch, optimizer)`: copies of what it is given."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from torch_debugger.anatomy.nested import copied, tensors_in
from torch_debugger.errors import UsageError
from torch_debugger.trials.preflight.case import Call, Case

LossFunction = Callable[[Any, Any], torch.Tensor]


def case_of(
    name: str, model: nn.Module, loss_fn: LossFunction, batch: Any, optimizer: Optimizer | None
) -> Case:
    """The model and the optimizer are copied together: the one's copy holds the parameters of the other's."""
    call, targets = _split(batch)
    twin, twin_optimizer = _twins(model, optimizer)

    def compute(given: Call) -> torch.Tensor:
        loss = loss_fn(twin(*given[0], **given[1]), copied(targets))
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise UsageError(f"loss_fn(output, targets) must give one number as a tensor, not {_shown(loss)}.")
        return loss

    return Case({name: twin}, call, compute, lambda given: twin(*given[0], **given[1]), twin_optimizer)


def _split(batch: Any) -> tuple[Call, Any]:
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise UsageError("doctor() takes a batch of two: (inputs, targets).")
    inputs, targets = batch
    if next(tensors_in(inputs), None) is None:
        raise UsageError("doctor() found no tensor in the inputs, the first of the batch's two parts.")
    if isinstance(inputs, Mapping):
        return ((), dict(inputs)), targets
    return (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,), {}), targets


def _twins(model: nn.Module, optimizer: Optimizer | None) -> tuple[nn.Module, Optimizer | None]:
    try:
        twins: tuple[nn.Module, Optimizer | None] = copy.deepcopy((model, optimizer))
    except Exception as error:  # copying runs the user's code
        raise UsageError(f"doctor() works on a copy of the model, which cannot be made: {error}") from error
    return twins


def _shown(value: Any) -> str:
    return f"a tensor of shape {list(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__
