"""Full-batch gradients: a hundred small batches are collected before each step."""
import torch
from torch import nn

torch.manual_seed(3)
net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.3, momentum=0.8)
inputs = torch.randn(1000, 5)
targets = inputs.abs().mean(dim=1, keepdim=True)

for epoch in range(12):
    optimizer.zero_grad()
    total = 0.0
    for part, wanted in zip(inputs.split(10), targets.split(10)):
        loss = nn.functional.mse_loss(net(part), wanted) / 100
        loss.backward()
        total += loss.item()
    optimizer.step()
    print(epoch, round(total, 5))
