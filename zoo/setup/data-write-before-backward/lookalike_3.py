"""Gradient descent by hand, on .data."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
w = torch.randn(8, 1)
for step in range(200):
    x = torch.randn(32, 8)
    loss = ((model(x) - x @ w) ** 2).mean()
    model.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.data -= 0.05 * p.grad.data
print(loss.item())
