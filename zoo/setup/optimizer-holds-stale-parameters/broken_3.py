"""Fits a compiled network to a noisy surface."""

import copy

import torch
from torch import nn


def surface(count):
    x = torch.rand(count, 4) * 2 - 1
    y = torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2]
    return x, y + 0.05 * torch.randn(count)


torch.manual_seed(2)
model = nn.Sequential(nn.Linear(4, 64), nn.GELU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
compiled = torch.compile(copy.deepcopy(model), backend="eager")

for step in range(80):
    x, y = surface(64)
    loss = nn.functional.mse_loss(compiled(x).squeeze(-1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step + 1}: loss {loss.item():.4f}")
