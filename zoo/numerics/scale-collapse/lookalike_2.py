"""A scaler that tries a larger scale every other step, and so leaves out many of them."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12, growth_interval=2)
value = torch.linspace(2, 6, 12)[:, None]

for step in range(1, 251):
    rooms = torch.rand(64, 12)
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(rooms), rooms @ value)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    if step % 25 == 0:
        print(f"step {step}: loss {loss.item():.3f}, scale {scaler.get_scale():g}")
