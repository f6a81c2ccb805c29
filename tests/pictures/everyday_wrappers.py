"""The states a user's model comes in: trained or not, half precision, another memory format, wrapped."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

Ways = Callable[[nn.Module], nn.Module]


class _CompiledLike(nn.Module):
    """As torch.compile wraps: the model is inside, and running the wrapper would run compiled code."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._orig_mod = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise AssertionError("compiled code was run")


def _trained(model: nn.Module) -> nn.Module:
    return model.train()


def _half(model: nn.Module) -> nn.Module:
    return model.to(torch.bfloat16)


def _channels_last(model: nn.Module) -> nn.Module:
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


WAYS = [
    pytest.param(_trained, id="in training mode"),
    pytest.param(nn.Module.eval, id="in evaluation mode"),
    pytest.param(_half, id="bfloat16"),
    pytest.param(_channels_last, id="channels last"),
    pytest.param(nn.DataParallel, id="DataParallel"),
    pytest.param(_CompiledLike, id="compiled"),
]
