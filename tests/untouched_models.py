"""Everything of a model and of the process that a look must leave as it was."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import torch
from torch import nn


@contextmanager
def model_untouched(model: nn.Module, *given: torch.Tensor) -> Iterator[None]:
    """Fails when parameters, gradients, buffers, hooks, attributes, inputs or random numbers have changed."""
    before = everything(model, given)
    yield
    after = everything(model, given)
    changed = [name for name in before if str(before[name]) != str(after[name])]
    assert not changed, changed


def everything(model: nn.Module, given: tuple[torch.Tensor, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "torch": torch.get_rng_state().tolist(),
        "numpy": numpy.random.get_state()[1].tolist(),
        "python": random.getstate(),
        "grad mode": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        "autocast cache": torch.is_autocast_cache_enabled(),
        "inputs": [(tensor.tolist(), tensor._version, tensor.grad) for tensor in given],
    }
    for path, module in model.named_modules():
        held = vars(module)
        found[f"{path}: hooks"] = {name: len(value) for name, value in held.items() if "hooks" in name and value}
        found[f"{path}: attributes"] = sorted(held)
        found[f"{path}: mode"] = module.training
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        grad = None if tensor.grad is None else tensor.grad.tolist()
        found[name] = (id(tensor), tensor.tolist(), tensor._version, grad, tensor._backward_hooks)
    return found
