"""Two networks share one scaler: both are unscaled and stepped, and the scale is updated once."""
import torch
from torch import nn

torch.manual_seed(0)
age, health = (nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1)) for _ in range(2))
opt_age = torch.optim.Adam(age.parameters(), lr=5e-3)
opt_health = torch.optim.Adam(health.parameters(), lr=5e-3)
scaler = torch.amp.GradScaler("cpu")

for step in range(1, 121):
    rings = torch.rand(64, 10)
    opt_age.zero_grad()
    opt_health.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss_age = nn.functional.mse_loss(age(rings), rings.sum(1, keepdim=True))
        loss_health = nn.functional.mse_loss(health(rings), rings.amin(1, keepdim=True))
    scaler.scale(loss_age).backward()
    scaler.scale(loss_health).backward()
    scaler.unscale_(opt_age)
    scaler.unscale_(opt_health)
    nn.utils.clip_grad_norm_(age.parameters(), 1.0)
    scaler.step(opt_age)
    scaler.step(opt_health)
    scaler.update()
    if step % 20 == 0:
        print(f"step {step}: age {loss_age.item():.4f} health {loss_health.item():.4f}")
