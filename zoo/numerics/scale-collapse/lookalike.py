"""Predict house prices in thousands: the scaler needs a while to find a scale that fits the large gradients."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24)
value = torch.linspace(20, 60, 12)[:, None]

for step in range(1, 201):
    rooms = torch.rand(64, 12)
    price = rooms @ value
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(rooms), price)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.1f}, scale {scaler.get_scale():g}")
