"""Fit a smooth function in half precision without a scaler, down to errors whose gradients are tiny."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=300)

for step in range(1, 301):
    x = 2 * torch.rand(128, 1) - 1
    y = torch.sin(3 * x)
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 30 == 0:
        print(f"step {step}: loss {loss.item():.6f}")
