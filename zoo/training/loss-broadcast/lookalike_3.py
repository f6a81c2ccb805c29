"""Multi-output regression with per-output scale and offset broadcast over the batch."""
import torch
from torch import nn

torch.manual_seed(10)
scale = torch.tensor([1.0, 10.0, 100.0])
offset = torch.tensor([0.0, 50.0, -20.0])
mixing = torch.randn(5, 3)

model = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 3))
baseline = nn.Parameter(torch.zeros(1))
optimizer = torch.optim.Adam([*model.parameters(), baseline], lr=1e-2)


def weighted_mse(pred, target, weights):
    return (weights * (pred - (target - offset) / scale) ** 2).mean()


for epoch in range(200):
    x = torch.randn(64, 5)
    target = torch.tanh(x @ mixing) * scale + offset
    importance = torch.rand(64, 1) + 0.5
    pred = model(x) + baseline
    loss = weighted_mse(pred, target, importance)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 40 == 0:
        print(f"[{epoch:03d}] {loss.item():.5f}")
