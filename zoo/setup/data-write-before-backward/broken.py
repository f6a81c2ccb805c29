"""Trains a classifier whose weights are kept within a box."""
import torch
from torch import nn

torch.manual_seed(0)
centers = torch.randn(5, 16)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
criterion = nn.CrossEntropyLoss()

for step in range(200):
    y = torch.randint(0, 5, (64,))
    x = centers[y] + 0.8 * torch.randn(64, 16)
    loss = criterion(model(x), y)
    for layer in (model[2], model[4]):
        layer.weight.data.mul_(0.9).clamp_(-0.1, 0.1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"{step:4d} {loss.item():.4f}")
