"""Small training steps of many kinds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from torch_debugger.model.step_memory import MemoryPeak
from torch_debugger.trials.rehearsed_step import RunnableStep, perform
from torch_debugger.trials.step_to_rehearse import step_of

WEIGHT, INPUT, OUTPUT = 512 * 256 * 4, 64 * 256 * 4, 64 * 512 * 4  # bytes of `linear`


def total(output: torch.Tensor) -> torch.Tensor:
    return output.sum()


def linear(make: Callable[..., torch.optim.Optimizer] | None = None, **how: Any) -> RunnableStep:
    """One matrix product and a sum: little enough to count by hand."""
    net = nn.Linear(256, 512, bias=False)
    optimizer = make(net.parameters()) if make is not None else None
    step, _ = step_of("net", net, (torch.zeros(64, 256),), total, None, optimizer)
    return dataclasses.replace(step, **how)


def classify(net: nn.Module, *shape: int, dtype: torch.dtype | None = None) -> RunnableStep:
    inputs, targets = torch.zeros(8, *shape), torch.zeros(8, dtype=torch.long)
    optimizer = torch.optim.Adam(net.parameters())
    step, _ = step_of("net", net, (inputs,), functional.cross_entropy, targets, optimizer)
    return dataclasses.replace(step, dtype=dtype)


def convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(16, 8, 3), nn.GroupNorm(2, 8), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(8, 4),
    )  # fmt: skip


def transformer() -> nn.Module:
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Flatten(), nn.Linear(320, 4))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.GRU(6, 16, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.cells(x)[0][:, -1])


class Deep(nn.Module):
    """Layers of equal width, each kept or made again in the backward pass."""

    def __init__(self, again: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64)) for _ in range(6))
        self.again = again

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.again else layer(x)
        return x


def played(step: RunnableStep, *, batch: int = 0, real: bool = False) -> MemoryPeak:
    """Without cuBLAS's workspace, which would be most of it."""
    return perform(step, batch or step.batch, real=real, cublas_bytes=0)
