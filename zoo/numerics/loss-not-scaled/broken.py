"""Forecast the load of a power grid with mixed precision."""
import torch
from torch import nn

torch.manual_seed(5)
model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu")
daily = torch.sin(torch.linspace(0, 6.2832, 24))

for step in range(1, 201):
    shift = torch.rand(64, 1)
    hours = (1 + shift) * daily + 0.3 * torch.randn(64, 24)
    load = hours.mean(1, keepdim=True) + shift
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(hours), load)
    scaler.scale(loss)
    loss.backward()
    scaler.step(optimizer)
    scaler.update()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.5f}")
