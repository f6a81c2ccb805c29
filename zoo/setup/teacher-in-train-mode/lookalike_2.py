"""Learns a network's own doubt: a frozen network keeps its dropout on and is asked ten times for each batch."""

import torch
from torch import nn

torch.manual_seed(8)


def curve(count):
    x = torch.rand(count, 1) * 4 - 2
    return x, torch.sin(2 * x) + 0.1 * torch.randn(count, 1)


sampler = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Dropout(0.1), nn.Linear(64, 1))
optimizer = torch.optim.Adam(sampler.parameters(), lr=5e-3)
for step in range(150):
    x, y = curve(64)
    loss = nn.functional.mse_loss(sampler(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"sampler: loss {loss.item():.4f}")

doubt = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
doubt_optimizer = torch.optim.Adam(doubt.parameters(), lr=5e-3)
for step in range(120):
    x, _ = curve(64)
    with torch.no_grad():
        spread = torch.stack([sampler(x) for _ in range(10)]).std(0).log()
    loss = nn.functional.mse_loss(doubt(x), spread)
    doubt_optimizer.zero_grad()
    loss.backward()
    doubt_optimizer.step()
    if step % 40 == 39:
        print(f"step {step + 1}: loss {loss.item():.4f}")
