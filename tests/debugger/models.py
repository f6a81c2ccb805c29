"""Models and loops of users, for the tests of the debugger."""

from __future__ import annotations

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.head = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x))


def train(
    model: nn.Module, steps: int = 12, *, zero: bool = True, softmax: bool = False, rate: float = 0.05
) -> list[float]:
    """A plain training loop on one fixed batch, with the fault that is asked for."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(32, 8, generator=generator)
    y = x[:, :3].argmax(dim=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    losses = []
    for _ in range(steps):
        if zero:
            optimizer.zero_grad()
        output = model(x)
        loss = nn.functional.cross_entropy(output.softmax(dim=1) if softmax else output, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
