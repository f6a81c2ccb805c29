"""Layers in a plain list, handed to the optimizer by hand."""
import torch
from torch import nn

torch.manual_seed(0)
layers = [nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)]
optimizer = torch.optim.Adam([p for layer in layers for p in layer.parameters()], lr=0.02)
for _ in range(60):
    x = torch.randn(64, 4)
    out = x
    for layer in layers:
        out = layer(out)
    loss = nn.functional.mse_loss(out, x[:, :1] * 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
