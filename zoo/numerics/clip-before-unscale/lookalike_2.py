"""Predict a motor's torque; the limit of the clip is multiplied by the scale instead of dividing the gradients."""
import torch
from torch import nn

torch.manual_seed(3)
model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu")
mixing = torch.randn(16, 1) / 4

for step in range(1, 201):
    x = torch.randn(64, 16)
    y = torch.sin(x @ mixing) + 0.5 * x[:, :1]
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0 * scaler.get_scale())
    scaler.step(optimizer)
    scaler.update()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
