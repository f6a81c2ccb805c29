"""Weigh parcels in grams: the outputs of a half-precision network grow to thousands, and stay there."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
scaler = torch.amp.GradScaler("cpu", init_scale=1.0)
density = torch.linspace(2000, 5000, 8)[:, None]

for step in range(1, 301):
    size = torch.rand(64, 8)
    grams = size @ density
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.huber_loss(model(size).float(), grams)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    if step % 30 == 0:
        print(f"step {step}: loss {loss.item():.1f}")
