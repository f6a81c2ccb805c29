"""Two interleaved half moons, told apart by a small multilayer perceptron."""
import math

import torch
from torch import nn

torch.manual_seed(3)


def half_moons(n):
    angle = torch.rand(n) * math.pi
    upper = torch.rand(n) < 0.5
    x = torch.where(upper, angle.cos(), 1 - angle.cos())
    y = torch.where(upper, angle.sin(), 0.4 - angle.sin())
    return torch.stack((x, y), dim=1) + 0.1 * torch.randn(n, 2), upper.float().unsqueeze(1)


model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for step in range(1, 301):
    points, labels = half_moons(64)
    loss = criterion(model(points), labels)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
