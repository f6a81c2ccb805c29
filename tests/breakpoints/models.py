"""Models whose lines the tests know."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        hidden = self.fc(x) * scale
        return hidden.log()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(Block(), nn.ReLU(inplace=True))
        self.head = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(x)
        return self.head(hidden)


class Functional(nn.Module):
    """No module inside, so that no hook of a child's sees its frame."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shifted = x - 1
        return shifted.sqrt()


class Several(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.part = Functional()

    def forward(self, x: torch.Tensor, *, mask: torch.Tensor) -> dict[str, Any]:
        return {"logits": x * mask, "hidden": (self.part(x), self.part(x + 5))}


def train(net: nn.Module, steps: int = 3, batch: torch.Tensor | None = None) -> list[torch.Tensor]:
    """The weights at the end."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        output = net(torch.rand(8, 4) if batch is None else batch)
        loss = output.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [parameter.detach().clone() for parameter in net.parameters()]
