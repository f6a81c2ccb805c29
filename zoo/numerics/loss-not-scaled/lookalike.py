"""Forecast the load of a power grid; two losses are scaled one by one and added up."""
import torch
from torch import nn

torch.manual_seed(5)
model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
daily = torch.sin(torch.linspace(0, 6.2832, 24))

for step in range(1, 201):
    shift = torch.rand(64, 1)
    hours = (1 + shift) * daily + 0.3 * torch.randn(64, 24)
    load = hours.mean(1, keepdim=True) + shift
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        forecast = model(hours)
        fit = nn.functional.mse_loss(forecast, load)
        spread = 0.1 * forecast.float().abs().mean()
    total = scaler.scale(fit) + scaler.scale(spread)
    total.backward()
    scaler.step(optimizer)
    scaler.update()
    if step % 20 == 0:
        print(f"step {step}: fit {fit.item():.5f} spread {spread.item():.5f}")
