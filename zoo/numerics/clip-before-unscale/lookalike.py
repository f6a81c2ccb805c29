"""Predict a motor's torque with accumulated gradients; they are unscaled once, then clipped."""
import torch
from torch import nn

torch.manual_seed(3)
model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu")
mixing = torch.randn(16, 1) / 4
ACCUMULATE = 4

for step in range(1, 91):
    optimizer.zero_grad()
    for _ in range(ACCUMULATE):
        x = torch.randn(32, 16)
        y = torch.sin(x @ mixing) + 0.5 * x[:, :1]
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), y) / ACCUMULATE
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
    if step % 15 == 0:
        print(f"step {step}: loss {ACCUMULATE * loss.item():.4f}, scale {scaler.get_scale():g}")
