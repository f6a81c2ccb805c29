"""Prints for every parameter whether it has a gradient, after a backward in a short training."""

import torch
from torch import nn

torch.manual_seed(50)
net = nn.Sequential(nn.Linear(5, 9), nn.GELU(), nn.Linear(9, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
rows = torch.randn(50, 5)
for _ in range(6):
    loss = nn.functional.mse_loss(net(rows), rows.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for path, parameter in net.named_parameters():
    print(f"{path}: {parameter.grad is not None}")
