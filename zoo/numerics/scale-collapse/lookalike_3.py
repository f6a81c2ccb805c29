"""Some batches hold readings that are far too large; the scaler leaves those steps out and goes on."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cpu", growth_interval=20)
value = torch.linspace(2, 6, 12)[:, None]

for step in range(1, 251):
    x = torch.rand(64, 12)
    y = x @ value
    if step % 40 == 0:
        y = 3000 * y
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    if step % 25 == 0:
        print(f"step {step}: loss {loss.item():.3f}, scale {scaler.get_scale():g}")
