"""A training loop written for GPUs with GradScaler, which switches itself off on the CPU."""
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
use_amp = device == "cuda"

torch.manual_seed(12)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=200)
scaler = torch.amp.GradScaler(device, enabled=use_amp)
weights = torch.randn(20, device=device)

for step in range(1, 201):
    x = torch.randn(64, 20, device=device)
    y = torch.sin(x @ weights / 3)
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device, dtype=torch.float16 if use_amp else torch.bfloat16, enabled=use_amp):
        loss = nn.functional.huber_loss(model(x).squeeze(-1), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    if step % 25 == 0:
        print(f"{step}: loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.5f}")
