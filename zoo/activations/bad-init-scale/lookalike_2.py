"""Torch's own start values in a deep ReLU network, which shrink the signal by themselves, on a slow task."""
import torch
from torch import nn


def net(depth=6, width=40):
    layers = [nn.Linear(10, width), nn.ReLU()]
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 1))


torch.manual_seed(1)
model = net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(200):
    x = torch.randn(64, 10)
    y = x[:, :1] * x[:, 1:2] + 2 * torch.randn(64, 1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
