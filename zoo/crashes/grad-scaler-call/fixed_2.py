"""Estimate the age of trees from their rings with large batches, gathered in four parts."""
import torch
from torch import nn

PARTS = 4

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scaler = torch.amp.GradScaler("cpu")

for step in range(1, 101):
    optimizer.zero_grad()
    for _ in range(PARTS):
        rings = torch.rand(32, 10)
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(rings), rings.sum(1, keepdim=True)) / PARTS
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    if step % 20 == 0:
        print(f"step {step}: loss {PARTS * loss.item():.4f}")
