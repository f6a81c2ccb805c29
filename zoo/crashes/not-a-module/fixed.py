"""Layers are collected in a list and then made into a network."""
import torch
from torch import nn

torch.manual_seed(0)
sizes = [6, 32, 32, 1]
layers = []
for a, b in zip(sizes, sizes[1:]):
    layers += [nn.Linear(a, b), nn.ReLU()]
model = nn.Sequential(*layers[:-1])
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(80):
    x = torch.randn(64, 6)
    y = x[:, :1] * x[:, 1:2]
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
